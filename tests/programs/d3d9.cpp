// d3d9 FOLDER
//
// Draws with Direct3D 9 and looks at pixels and an occlusion query. FOLDER has the shaders of d3d9.hlsl. Prints each case:
// NAME<tab>pass or fail<tab>what is wrong.

#include <d3d9.h>

#include <cstdio>
#include <string>
#include <vector>

namespace {

constexpr UINT WIDTH = 64;
std::string folder;
IDirect3DDevice9* device;

std::vector<DWORD> code(const char* name) {
    std::vector<DWORD> words(1 << 12);
    if (std::FILE* file = std::fopen((folder + "/" + name + ".d3dbc").c_str(), "rb")) {
        words.resize(std::fread(words.data(), 4, words.size(), file));
        std::fclose(file);
    }
    return words;
}

bool check(HRESULT result, const char* what) {
    if (FAILED(result)) std::printf("%s\tfail\t%08x\n", what, static_cast<unsigned>(result));
    return SUCCEEDED(result);
}

void expect(const char* name, DWORD got, DWORD expected) {
    if (got == expected)
        std::printf("%s\tpass\t\n", name);
    else
        std::printf("%s\tfail\t%08x, not %08x\n", name, static_cast<unsigned>(got), static_cast<unsigned>(expected));
}

struct Vertex {
    float x, y, z, w;
    D3DCOLOR color;
};

bool draw() {
    const D3DVERTEXELEMENT9 elements[] = {{0, 0, D3DDECLTYPE_FLOAT4, 0, D3DDECLUSAGE_POSITION, 0},
        {0, 16, D3DDECLTYPE_D3DCOLOR, 0, D3DDECLUSAGE_COLOR, 0}, D3DDECL_END()};
    IDirect3DVertexDeclaration9* declaration = nullptr;
    IDirect3DVertexShader9* vertex = nullptr;
    IDirect3DPixelShader9* pixel = nullptr;
    if (!check(device->CreateVertexDeclaration(elements, &declaration), "CreateVertexDeclaration")
        || !check(device->CreateVertexShader(code("vs").data(), &vertex), "CreateVertexShader")
        || !check(device->CreatePixelShader(code("ps").data(), &pixel), "CreatePixelShader"))
        return false;
    device->SetVertexDeclaration(declaration);
    device->SetVertexShader(vertex);
    device->SetPixelShader(pixel);
    device->SetRenderState(D3DRS_ZENABLE, FALSE);
    device->SetRenderState(D3DRS_CULLMODE, D3DCULL_NONE);
    // The left half.
    const D3DCOLOR color = D3DCOLOR_ARGB(255, 0, 255, 0);
    const Vertex vertices[] = {{-1, -1, 0, 1, color}, {-1, 1, 0, 1, color}, {0, -1, 0, 1, color}, {0, 1, 0, 1, color}};
    return check(device->BeginScene(), "BeginScene")
        && check(device->DrawPrimitiveUP(D3DPT_TRIANGLESTRIP, 2, vertices, sizeof *vertices), "DrawPrimitiveUP")
        && check(device->EndScene(), "EndScene");
}

} // namespace

int main(int count, char** arguments) {
    folder = count > 1 ? arguments[1] : ".";
    const HWND window = CreateWindowA("static", "d3d9", WS_OVERLAPPEDWINDOW, 0, 0, WIDTH, WIDTH, nullptr, nullptr, nullptr, nullptr);
    IDirect3D9* d3d = Direct3DCreate9(D3D_SDK_VERSION);
    D3DPRESENT_PARAMETERS parameters = {};
    parameters.Windowed = TRUE;
    parameters.SwapEffect = D3DSWAPEFFECT_DISCARD;
    parameters.BackBufferFormat = D3DFMT_X8R8G8B8;
    parameters.BackBufferWidth = parameters.BackBufferHeight = WIDTH;
    if (!d3d
        || !check(d3d->CreateDevice(D3DADAPTER_DEFAULT, D3DDEVTYPE_HAL, window, D3DCREATE_HARDWARE_VERTEXPROCESSING, &parameters, &device),
            "CreateDevice"))
        return 0;
    IDirect3DSurface9 *target = nullptr, *copy = nullptr;
    IDirect3DQuery9* query = nullptr;
    if (!check(device->CreateRenderTarget(WIDTH, WIDTH, D3DFMT_A8R8G8B8, D3DMULTISAMPLE_NONE, 0, FALSE, &target, nullptr), "CreateRenderTarget")
        || !check(device->CreateOffscreenPlainSurface(WIDTH, WIDTH, D3DFMT_A8R8G8B8, D3DPOOL_SYSTEMMEM, &copy, nullptr),
            "CreateOffscreenPlainSurface")
        || !check(device->CreateQuery(D3DQUERYTYPE_OCCLUSION, &query), "CreateQuery"))
        return 0;
    device->SetRenderTarget(0, target);
    device->Clear(0, nullptr, D3DCLEAR_TARGET, D3DCOLOR_ARGB(255, 255, 0, 0), 1, 0);
    // wined3d on lavapipe counts nothing in about one of four runs, without the layer too.
    DWORD pixels = 0;
    for (int tries = 0; tries < 8 && pixels == 0; tries++) {
        query->Issue(D3DISSUE_BEGIN);
        if (!draw()) return 0;
        query->Issue(D3DISSUE_END);
        while (query->GetData(&pixels, sizeof pixels, D3DGETDATA_FLUSH) == S_FALSE) {}
    }
    expect("Direct3D 9: occlusion query", pixels, WIDTH * WIDTH / 2);
    D3DLOCKED_RECT locked;
    if (!check(device->GetRenderTargetData(target, copy), "GetRenderTargetData")
        || !check(copy->LockRect(&locked, nullptr, D3DLOCK_READONLY), "LockRect"))
        return 0;
    const auto at = [&](UINT x, UINT y) {
        return *reinterpret_cast<const DWORD*>(static_cast<const char*>(locked.pBits) + y * locked.Pitch + 4 * x);
    };
    expect("Direct3D 9: drawn", at(WIDTH / 4, WIDTH / 2), D3DCOLOR_ARGB(255, 0, 255, 0));
    expect("Direct3D 9: cleared", at(3 * WIDTH / 4, WIDTH / 2), D3DCOLOR_ARGB(255, 255, 0, 0));
    // On the window's back buffer.
    check(device->Present(nullptr, nullptr, nullptr, nullptr), "Present");
    return 0;
}
