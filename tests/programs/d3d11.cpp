// d3d11
// d3d11 FOLDER CASE
//
// What Direct3D 11's stream output writes, for DXVK-native and, as a Windows program, for Wine. Lists the cases, or runs one
// and prints CASE<tab>pass or fail<tab>what queries say, or what is wrong. FOLDER has the shaders of stream-output.hlsl. What
// is expected is computed here, from Direct3D's rules. A process for each case, for DXVK 3.1 takes shaders of the same code
// for the same, whatever is declared of their stream output.

#include <d3d11.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace {

ID3D11Device* device;
ID3D11DeviceContext* context;
std::string folder;

using Words = std::vector<UINT>;

// What a buffer has before anything is written to it.
constexpr UINT UNTOUCHED = 0xcdcdcdcd;
constexpr UINT WIDTH = 64;
constexpr UINT CAPACITY = 4096;

// A case that cannot go on.
struct Failure {
    std::string what;
};

void check(HRESULT result, const char* what) {
    if (FAILED(result)) {
        char text[200];
        std::snprintf(text, sizeof text, "%s: %08x", what, static_cast<unsigned>(result));
        throw Failure{text};
    }
}

UINT bits(float number) {
    UINT word;
    std::memcpy(&word, &number, sizeof word);
    return word;
}

// Objects live as long as the program: it ends soon.

std::vector<char> code(const std::string& shader) {
    std::FILE* file = std::fopen((folder + "/" + shader + ".dxbc").c_str(), "rb");
    if (!file) throw Failure{"no shader " + shader};
    std::vector<char> bytes(1 << 16);
    bytes.resize(std::fread(bytes.data(), 1, bytes.size(), file));
    std::fclose(file);
    return bytes;
}

ID3D11VertexShader* vertex_shader(const char* name) {
    auto bytes = code(name);
    ID3D11VertexShader* shader = nullptr;
    check(device->CreateVertexShader(bytes.data(), bytes.size(), nullptr, &shader), "CreateVertexShader");
    return shader;
}

ID3D11PixelShader* pixel_shader(const char* name) {
    auto bytes = code(name);
    ID3D11PixelShader* shader = nullptr;
    check(device->CreatePixelShader(bytes.data(), bytes.size(), nullptr, &shader), "CreatePixelShader");
    return shader;
}

// A declaration of stream output.
struct Output {
    std::vector<D3D11_SO_DECLARATION_ENTRY> entries;
    std::vector<UINT> strides;
    UINT rasterized = D3D11_SO_NO_RASTERIZED_STREAM;
};

// position and id of `Vertex`, in buffer 0.
Output whole_vertex(UINT rasterized = D3D11_SO_NO_RASTERIZED_STREAM) {
    return {{{0, "SV_Position", 0, 0, 4, 0}, {0, "ID", 0, 0, 1, 0}}, {20}, rasterized};
}

ID3D11GeometryShader* stream_output(const char* shader, const Output& output) {
    auto bytes = code(shader);
    ID3D11GeometryShader* made = nullptr;
    check(device->CreateGeometryShaderWithStreamOutput(bytes.data(), bytes.size(), output.entries.data(),
              static_cast<UINT>(output.entries.size()), output.strides.data(), static_cast<UINT>(output.strides.size()),
              output.rasterized, nullptr, &made),
        "CreateGeometryShaderWithStreamOutput");
    return made;
}

ID3D11Buffer* buffer(const Words& words, UINT bind, D3D11_USAGE usage = D3D11_USAGE_DEFAULT, UINT misc = 0) {
    D3D11_BUFFER_DESC description = {};
    description.ByteWidth = static_cast<UINT>(words.size() * 4);
    description.Usage = usage;
    description.BindFlags = bind;
    description.MiscFlags = misc;
    D3D11_SUBRESOURCE_DATA data = {};
    data.pSysMem = words.data();
    ID3D11Buffer* made = nullptr;
    check(device->CreateBuffer(&description, &data, &made), "CreateBuffer");
    return made;
}

// A buffer that stream output writes and a draw may read.
ID3D11Buffer* target(UINT words = CAPACITY) {
    return buffer(Words(words, UNTOUCHED), D3D11_BIND_STREAM_OUTPUT | D3D11_BIND_VERTEX_BUFFER);
}

Words read(ID3D11Buffer* from) {
    D3D11_BUFFER_DESC description;
    from->GetDesc(&description);
    description.Usage = D3D11_USAGE_STAGING;
    description.BindFlags = 0;
    description.MiscFlags = 0;
    description.CPUAccessFlags = D3D11_CPU_ACCESS_READ;
    ID3D11Buffer* copy = nullptr;
    check(device->CreateBuffer(&description, nullptr, &copy), "CreateBuffer");
    context->CopyResource(copy, from);
    D3D11_MAPPED_SUBRESOURCE mapped;
    check(context->Map(copy, 0, D3D11_MAP_READ, 0, &mapped), "Map");
    Words words(description.ByteWidth / 4);
    std::memcpy(words.data(), mapped.pData, description.ByteWidth);
    context->Unmap(copy, 0);
    return words;
}

// A row of WIDTH pixels, of whole numbers.
struct Row {
    ID3D11Texture2D* texture = nullptr;
    ID3D11RenderTargetView* view = nullptr;

    Row() {
        D3D11_TEXTURE2D_DESC description = {};
        description.Width = WIDTH;
        description.Height = 1;
        description.MipLevels = description.ArraySize = description.SampleDesc.Count = 1;
        description.Format = DXGI_FORMAT_R32G32B32A32_UINT;
        description.BindFlags = D3D11_BIND_RENDER_TARGET;
        check(device->CreateTexture2D(&description, nullptr, &texture), "CreateTexture2D");
        check(device->CreateRenderTargetView(texture, nullptr, &view), "CreateRenderTargetView");
        const float zero[4] = {};
        context->ClearRenderTargetView(view, zero);
        context->OMSetRenderTargets(1, &view, nullptr);
        const D3D11_VIEWPORT viewport = {0, 0, static_cast<float>(WIDTH), 1, 0, 1};
        context->RSSetViewports(1, &viewport);
    }

    Words read() {
        context->OMSetRenderTargets(0, nullptr, nullptr);
        D3D11_TEXTURE2D_DESC description;
        texture->GetDesc(&description);
        description.Usage = D3D11_USAGE_STAGING;
        description.BindFlags = 0;
        description.CPUAccessFlags = D3D11_CPU_ACCESS_READ;
        ID3D11Texture2D* copy = nullptr;
        check(device->CreateTexture2D(&description, nullptr, &copy), "CreateTexture2D");
        context->CopyResource(copy, texture);
        D3D11_MAPPED_SUBRESOURCE mapped;
        check(context->Map(copy, 0, D3D11_MAP_READ, 0, &mapped), "Map");
        Words row(WIDTH);
        for (UINT i = 0; i < WIDTH; i++) std::memcpy(&row[i], static_cast<char*>(mapped.pData) + 16 * i, 4);
        context->Unmap(copy, 0);
        return row;
    }
};

struct Query {
    // None where it is optional, and wined3d's renderer does not have its kind.
    ID3D11Query* query = nullptr;

    explicit Query(D3D11_QUERY kind, bool optional = false) {
        const D3D11_QUERY_DESC description = {kind, 0};
        const HRESULT result = device->CreateQuery(&description, &query);
        if (!optional) check(result, "CreateQuery");
        if (query) context->Begin(query);
    }
    void end() {
        if (query) context->End(query);
    }
    template <typename T> T result() {
        T value = {};
        HRESULT result;
        while ((result = context->GetData(query, &value, sizeof value, 0)) == S_FALSE) {}
        check(result, "GetData");
        return value;
    }
};

// What is wrong in the case that runs, and what its queries say.
std::string wrong;
std::string detail;

void expect_words(const std::string& what, const Words& got, Words expected) {
    expected.resize(got.size(), UNTOUCHED);
    const auto at = std::mismatch(got.begin(), got.end(), expected.begin());
    if (at.first == got.end() || !wrong.empty()) return;
    char text[200];
    std::snprintf(text, sizeof text, "%s: word %d is %08x, not %08x", what.c_str(),
        static_cast<int>(at.first - got.begin()), *at.first, *at.second);
    wrong = text;
}

void expect(const std::string& what, UINT64 got, UINT64 expected) {
    detail += (detail.empty() ? "" : ", ") + what + " " + std::to_string(got);
    if (got != expected && wrong.empty()) wrong = what + ": " + std::to_string(got) + ", not " + std::to_string(expected);
}

// The statistics and overflow of a stream, from here to `end_and_expect`.
struct Counts {
    std::string name;
    Query statistics, overflow;

    explicit Counts(UINT stream = 0)
        : name(stream == 0 ? "" : "stream " + std::to_string(stream) + " ")
        , statistics(static_cast<D3D11_QUERY>(D3D11_QUERY_SO_STATISTICS_STREAM0 + 2 * stream))
        , overflow(static_cast<D3D11_QUERY>(D3D11_QUERY_SO_OVERFLOW_PREDICATE_STREAM0 + 2 * stream), true) {}

    void end_and_expect(UINT64 written, UINT64 needed) {
        statistics.end();
        overflow.end();
        const auto got = statistics.result<D3D11_QUERY_DATA_SO_STATISTICS>();
        expect(name + "written", got.NumPrimitivesWritten, written);
        expect(name + "needed", got.PrimitivesStorageNeeded, needed);
        if (overflow.query) expect(name + "overflow", static_cast<UINT64>(overflow.result<BOOL>()), written < needed);
    }
};

void capture_to(std::vector<ID3D11Buffer*> buffers, std::vector<UINT> offsets = {}) {
    offsets.resize(buffers.size(), 0);
    context->SOSetTargets(static_cast<UINT>(buffers.size()), buffers.data(), offsets.data());
}

constexpr UINT APPEND = ~0u;

void use(const char* vertex, ID3D11GeometryShader* geometry, D3D11_PRIMITIVE_TOPOLOGY topology,
    ID3D11PixelShader* pixel = nullptr) {
    context->VSSetShader(vertex_shader(vertex), nullptr, 0);
    context->GSSetShader(geometry, nullptr, 0);
    context->PSSetShader(pixel, nullptr, 0);
    context->IASetPrimitiveTopology(topology);
}

// `vs_again` reads what was captured.
void read_vertices_from(ID3D11Buffer* captured) {
    static const D3D11_INPUT_ELEMENT_DESC elements[] = {
        {"POSITION", 0, DXGI_FORMAT_R32G32B32A32_FLOAT, 0, 0, D3D11_INPUT_PER_VERTEX_DATA, 0},
        {"ID", 0, DXGI_FORMAT_R32_UINT, 0, 16, D3D11_INPUT_PER_VERTEX_DATA, 0},
    };
    auto bytes = code("vs_again");
    ID3D11InputLayout* layout = nullptr;
    check(device->CreateInputLayout(elements, 2, bytes.data(), bytes.size(), &layout), "CreateInputLayout");
    context->IASetInputLayout(layout);
    const UINT stride = 20, offset = 0;
    context->IASetVertexBuffers(0, 1, &captured, &stride, &offset);
}

// What the shaders give.

void put(Words& words, float x, float y, float z, float w, UINT id) {
    words.insert(words.end(), {bits(x), bits(y), bits(z), bits(w), id});
}

void put_number(Words& words, UINT vertex, UINT instance = 0) {
    put(words, static_cast<float>(vertex), static_cast<float>(vertex * 2), static_cast<float>(instance), 1,
        vertex * 16 + instance);
}

float pixel_x(UINT pixel) { return (static_cast<float>(pixel) + 0.5f) / 32 - 1; }

// The cases.

const auto POINTS = D3D11_PRIMITIVE_TOPOLOGY_POINTLIST;

void vertex_points() {
    auto* to = target();
    use("vs_numbers", stream_output("vs_numbers", whole_vertex()), POINTS);
    capture_to({to});
    Counts counts;
    context->Draw(100, 3);
    counts.end_and_expect(100, 100);
    Words expected;
    // SV_VertexID counts from 0 whatever the first vertex is.
    for (UINT i = 0; i < 100; i++) put_number(expected, i);
    expect_words("data", read(to), expected);
}

void vertex_strip() {
    auto* to = target();
    use("vs_numbers", stream_output("vs_numbers", whole_vertex()), D3D11_PRIMITIVE_TOPOLOGY_TRIANGLESTRIP);
    capture_to({to});
    Counts counts;
    context->Draw(7, 0);
    counts.end_and_expect(5, 5);
    Words expected;
    for (UINT i = 0; i < 5; i++)
        for (UINT vertex : {i, i + 1 + i % 2, i + 2 - i % 2}) put_number(expected, vertex);
    expect_words("data", read(to), expected);
}

void vertex_indexed_instanced() {
    auto* to = target();
    use("vs_numbers", stream_output("vs_numbers", whole_vertex()), D3D11_PRIMITIVE_TOPOLOGY_LINESTRIP);
    capture_to({to});
    // A strip ends at the cut.
    context->IASetIndexBuffer(buffer({7, 3, 9, ~0u, 4, 5}, D3D11_BIND_INDEX_BUFFER), DXGI_FORMAT_R32_UINT, 0);
    Counts counts;
    context->DrawIndexedInstanced(6, 3, 0, 0, 0);
    counts.end_and_expect(9, 9);
    Words expected;
    for (UINT instance = 0; instance < 3; instance++)
        for (UINT vertex : {7, 3, 3, 9, 4, 5}) put_number(expected, vertex, instance);
    expect_words("data", read(to), expected);
}

void vertex_indirect() {
    auto* to = target();
    use("vs_numbers", stream_output("vs_numbers", whole_vertex()), POINTS);
    capture_to({to});
    auto* arguments = buffer({6, 2, 0, 0}, 0, D3D11_USAGE_DEFAULT, D3D11_RESOURCE_MISC_DRAWINDIRECT_ARGS);
    Counts counts;
    context->DrawInstancedIndirect(arguments, 0);
    counts.end_and_expect(12, 12);
    Words expected;
    for (UINT instance = 0; instance < 2; instance++)
        for (UINT i = 0; i < 6; i++) put_number(expected, i, instance);
    expect_words("data", read(to), expected);
}

// A stream has two buffers, the first with a gap in each vertex if that is asked for.
void two_buffers(bool gap) {
    auto *to = target(), *also = target();
    Output output = {{{0, "SV_Position", 0, 0, 4, 0}}, {16, 4}};
    if (gap) {
        output.entries.push_back({0, nullptr, 0, 0, 2, 0});
        output.strides[0] = 24;
    }
    output.entries.push_back({0, "ID", 0, 0, 1, 1});
    use("vs_numbers", stream_output("vs_numbers", output), POINTS);
    capture_to({to, also});
    Counts counts;
    context->DrawInstanced(5, 2, 0, 0);
    counts.end_and_expect(10, 10);
    Words first, second;
    for (UINT instance = 0; instance < 2; instance++) {
        for (UINT i = 0; i < 5; i++) {
            first.insert(first.end(),
                {bits(static_cast<float>(i)), bits(static_cast<float>(i * 2)), bits(static_cast<float>(instance)), bits(1)});
            if (gap) first.insert(first.end(), 2, UNTOUCHED);
            second.push_back(i * 16 + instance);
        }
    }
    expect_words("buffer 0", read(to), first);
    expect_words("buffer 1", read(also), second);
}

void vertex_two_buffers() { two_buffers(false); }
void vertex_gap() { two_buffers(true); }

void vertex_components() {
    auto* to = target();
    Output output = {{{0, "SV_Position", 0, 1, 2, 0}}, {8}};
    use("vs_numbers", stream_output("vs_numbers", output), POINTS);
    capture_to({to});
    context->DrawInstanced(5, 2, 0, 0);
    Words expected;
    for (UINT instance = 0; instance < 2; instance++)
        for (UINT i = 0; i < 5; i++)
            expected.insert(expected.end(), {bits(static_cast<float>(i * 2)), bits(static_cast<float>(instance))});
    expect_words("data", read(to), expected);
}

void geometry_twice() {
    auto* to = target();
    use("vs_numbers", stream_output("gs_twice", whole_vertex()), D3D11_PRIMITIVE_TOPOLOGY_TRIANGLELIST);
    capture_to({to});
    Counts counts;
    context->Draw(30, 0);
    counts.end_and_expect(20, 20);
    Words expected;
    for (UINT primitive = 0; primitive < 10; primitive++)
        for (UINT copy = 0; copy < 2; copy++)
            for (UINT i = 3 * primitive; i < 3 * primitive + 3; i++)
                put(expected, static_cast<float>(i), static_cast<float>(i * 2), static_cast<float>(copy),
                    static_cast<float>(primitive), i * 16 + copy);
    expect_words("data", read(to), expected);
}

void put_some(Words& expected, UINT vertices) {
    for (UINT vertex = 0; vertex < vertices; vertex++)
        for (UINT i = 0; i < (vertex & 3); i++)
            put(expected, static_cast<float>(vertex), static_cast<float>(vertex * 2), 0, static_cast<float>(i),
                vertex * 16);
}

void geometry_some() {
    auto* to = target();
    use("vs_numbers", stream_output("gs_some", whole_vertex()), POINTS);
    capture_to({to});
    Counts counts;
    context->Draw(50, 0);
    counts.end_and_expect(73, 73);
    Words expected;
    put_some(expected, 50);
    expect_words("data", read(to), expected);
}

// The offset -1 goes on where the last draw stopped, whatever was captured between.
void appended(const char* shader, const std::function<void(Words&)>& put_draw) {
    auto *to = target(), *other = target();
    auto* geometry = stream_output(shader, whole_vertex());
    use("vs_numbers", geometry, POINTS);
    Words once;
    put_draw(once);
    capture_to({to}, {40});
    context->Draw(8, 0);
    capture_to({});
    context->Draw(8, 0);
    capture_to({other});
    context->Draw(8, 0);
    capture_to({to}, {APPEND});
    Counts counts;
    context->Draw(8, 0);
    context->Draw(8, 0);
    counts.end_and_expect(once.size() / 5 * 2, once.size() / 5 * 2);
    Words expected(10, UNTOUCHED);
    for (int i = 0; i < 3; i++) expected.insert(expected.end(), once.begin(), once.end());
    expect_words("data", read(to), expected);
    expect_words("the other buffer", read(other), once);
}

void append_vertex() {
    appended("vs_numbers", [](Words& words) {
        for (UINT i = 0; i < 8; i++) put_number(words, i);
    });
}

void append_geometry() {
    appended("gs_some", [](Words& words) { put_some(words, 8); });
}

void append_often() {
    auto* to = target();
    use("vs_numbers", stream_output("vs_numbers", whole_vertex()), POINTS);
    Words expected;
    for (int i = 0; i < 200; i++) {
        capture_to({to}, {i == 0 ? 0 : APPEND});
        context->Draw(3, 0);
        capture_to({});
        for (UINT vertex = 0; vertex < 3; vertex++) put_number(expected, vertex);
    }
    expect_words("data", read(to), expected);
}

// DrawAuto draws as many vertices as were captured.
void draw_auto_captured() {
    auto *to = target(), *again = target();
    use("vs_numbers", stream_output("gs_some", whole_vertex()), POINTS);
    capture_to({to});
    context->Draw(21, 0);
    use("vs_again", stream_output("vs_again", whole_vertex()), POINTS);
    capture_to({again});
    read_vertices_from(to);
    Counts counts;
    context->DrawAuto();
    counts.end_and_expect(30, 30);
    Words expected;
    put_some(expected, 21);
    expect_words("captured", read(to), expected);
    for (size_t i = 4; i < expected.size(); i += 5) expected[i] += 1000;
    expect_words("drawn", read(again), expected);
}

void draw_auto_rasterized() {
    auto* to = target();
    use("vs_pixels", stream_output("vs_pixels", whole_vertex()), POINTS);
    capture_to({to});
    context->Draw(10, 0);
    capture_to({to}, {APPEND});
    context->Draw(20, 0);
    capture_to({});
    Row row;
    use("vs_again", nullptr, POINTS, pixel_shader("ps_id"));
    read_vertices_from(to);
    Query drawn(D3D11_QUERY_PIPELINE_STATISTICS);
    context->DrawAuto();
    drawn.end();
    expect("vertices", drawn.result<D3D11_QUERY_DATA_PIPELINE_STATISTICS>().IAVertices, 30);
    Words expected(WIDTH, 0);
    for (UINT i = 0; i < 20; i++) expected[i] = 1001 + i;
    expect_words("pixels", row.read(), expected);
}

// A primitive that does not fit is not written in part, and none after it.
void overflow(const char* shader, UINT64 needed) {
    constexpr UINT FIT = 17;
    auto* to = target(FIT * 5 + 4);
    use("vs_numbers", stream_output(shader, whole_vertex()), POINTS);
    capture_to({to});
    Counts counts;
    context->Draw(40, 0);
    counts.end_and_expect(FIT, needed);
    Words expected;
    if (needed == 40) {
        for (UINT i = 0; i < FIT; i++) put_number(expected, i);
    } else {
        put_some(expected, 40);
        expected.resize(FIT * 5);
    }
    expect_words("data", read(to), expected);
}

void overflow_vertex() { overflow("vs_numbers", 40); }
void overflow_geometry() { overflow("gs_some", 60); }

// What is captured is rasterized, too.
void rasterized() {
    auto* to = target();
    Row row;
    use("vs_pixels", stream_output("vs_pixels", whole_vertex(0)), POINTS, pixel_shader("ps_id"));
    capture_to({to});
    Counts counts;
    context->Draw(40, 0);
    counts.end_and_expect(40, 40);
    Words data, pixels(WIDTH, 0);
    for (UINT i = 0; i < 40; i++) {
        put(data, pixel_x(i), 0, 0, 1, i);
        pixels[i] = i + 1;
    }
    expect_words("data", read(to), data);
    expect_words("pixels", row.read(), pixels);
}

// A geometry shader makes a square of each point: two triangles.
void rasterized_squares() {
    auto* to = target();
    Row row;
    use("vs_pixels", stream_output("gs_squares", whole_vertex(0)), POINTS, pixel_shader("ps_id"));
    capture_to({to});
    Counts counts;
    context->Draw(40, 0);
    counts.end_and_expect(80, 80);
    Words data, pixels(WIDTH, 0);
    for (UINT i = 0; i < 40; i++) {
        const float half = 1.0f / 64;
        const float left = pixel_x(i) - half, right = pixel_x(i) + half;
        // The second triangle of a strip in its order: 1, 3, 2.
        for (const auto& corner : {std::pair(left, 1.0f), {right, 1.0f}, {left, -1.0f}, {right, 1.0f}, {right, -1.0f}, {left, -1.0f}})
            put(data, corner.first, corner.second, 0, 1, i);
        pixels[i] = i + 1;
    }
    expect_words("data", read(to), data);
    expect_words("pixels", row.read(), pixels);
}

// Two streams, each with a buffer of its own.
void streams(UINT rasterized, UINT first_words = CAPACITY) {
    constexpr UINT POINTS_IN = 30, SECOND = POINTS_IN / 3 * 2 * 2;
    const UINT fit = std::min(POINTS_IN, first_words / 5);
    auto *to = target(first_words), *also = target();
    Output output = {{{0, "SV_Position", 0, 0, 4, 0}, {0, "FIRST", 0, 0, 1, 0}, {1, "SECOND", 0, 0, 2, 1}}, {20, 8},
        rasterized};
    Row row;
    ID3D11PixelShader* pixel = nullptr;
    if (rasterized != D3D11_SO_NO_RASTERIZED_STREAM) pixel = pixel_shader(rasterized == 0 ? "ps_first" : "ps_second");
    use("vs_pixels", stream_output("gs_streams", output), POINTS, pixel);
    capture_to({to, also});
    Counts first(0), second(1);
    Query all(D3D11_QUERY_SO_OVERFLOW_PREDICATE);
    context->Draw(POINTS_IN, 0);
    all.end();
    first.end_and_expect(fit, POINTS_IN);
    second.end_and_expect(SECOND, SECOND);
    expect("any overflow", static_cast<UINT64>(all.result<BOOL>()), fit < POINTS_IN);
    Words data, more, pixels(WIDTH, 0);
    for (UINT i = 0; i < POINTS_IN; i++) {
        if (i < fit) put(data, pixel_x(i), 0, 0, 1, i);
        if (rasterized == 0) pixels[i] = i + 1;
        if (i % 3 == 0) continue;
        more.insert(more.end(), {i, 0, i, 1});
        if (rasterized == 1) pixels[i + 2] = i + 100;
    }
    expect_words("stream 0", read(to), data);
    expect_words("stream 1", read(also), more);
    expect_words("pixels", row.read(), pixels);
}

void two_streams() { streams(D3D11_SO_NO_RASTERIZED_STREAM); }
void two_streams_overflow() { streams(D3D11_SO_NO_RASTERIZED_STREAM, 50); }
void two_streams_first_rasterized() { streams(0); }
void two_streams_second_rasterized() { streams(1); }

// A format of vertices, and two vertices of it.
struct Format {
    const char* name;
    DXGI_FORMAT format;
    // What a shader has of the same numeric type, with 4 components.
    const char* type;
    // How many words a vertex has in the buffer.
    UINT words;
    // What the buffer has.
    Words stored;
    // What the shader's registers have: of components that the format lacks the fourth is 1, of its numeric type, others 0.
    Words loaded;
};

// With no numbers that are rounded.
const Format FORMATS[] = {
    {"R8G8B8A8_UINT", DXGI_FORMAT_R8G8B8A8_UINT, "uint", 1, {0x80ff0201, 0x7f030400},
        {1, 2, 0xff, 0x80, 0, 4, 3, 0x7f}},
    {"R8G8B8A8_SINT", DXGI_FORMAT_R8G8B8A8_SINT, "int", 1, {0x80ff0201, 0x7f03fc00},
        {1, 2, ~0u, 0xffffff80, 0, 0xfffffffc, 3, 0x7f}},
    {"R8G8B8A8_UNORM", DXGI_FORMAT_R8G8B8A8_UNORM, "float", 1, {0x00ff00ff, 0xffff0000},
        {bits(1), 0, bits(1), 0, 0, 0, bits(1), bits(1)}},
    {"R8G8B8A8_SNORM", DXGI_FORMAT_R8G8B8A8_SNORM, "float", 1, {0x817f007f, 0x007f8100},
        {bits(1), 0, bits(1), bits(-1), 0, bits(-1), bits(1), 0}},
    {"R16G16_UINT", DXGI_FORMAT_R16G16_UINT, "uint", 1, {0xfffe0102, 0x80000003}, {0x102, 0xfffe, 0, 1, 3, 0x8000, 0, 1}},
    {"R16G16_SINT", DXGI_FORMAT_R16G16_SINT, "int", 1, {0xfffe0102, 0x80000003},
        {0x102, 0xfffffffe, 0, 1, 3, 0xffff8000, 0, 1}},
    {"R16G16_FLOAT", DXGI_FORMAT_R16G16_FLOAT, "float", 1, {0xc0003c00, 0x38004200},
        {bits(1), bits(-2), 0, bits(1), bits(3), bits(0.5f), 0, bits(1)}},
    {"R10G10B10A2_UINT", DXGI_FORMAT_R10G10B10A2_UINT, "uint", 1,
        {1023 | 5 << 10 | 512 << 20 | 3u << 30, 7 | 1023 << 10 | 9 << 20 | 2u << 30}, {1023, 5, 512, 3, 7, 1023, 9, 2}},
    {"R10G10B10A2_UNORM", DXGI_FORMAT_R10G10B10A2_UNORM, "float", 1, {1023 | 1023 << 20, 1023 << 10 | 3u << 30},
        {bits(1), 0, bits(1), 0, 0, bits(1), 0, bits(1)}},
    {"R11G11B10_FLOAT", DXGI_FORMAT_R11G11B10_FLOAT, "float", 1, {0x3c0 | 0x400 << 11 | 0x1c0u << 22, 0x420 | 0x1e0u << 22},
        {bits(1), bits(2), bits(0.5f), bits(1), bits(3), 0, bits(1), bits(1)}},
    {"R32G32B32_FLOAT", DXGI_FORMAT_R32G32B32_FLOAT, "float", 3,
        {bits(0.1f), bits(-2), bits(3e30f), bits(4), bits(-0.0f), bits(7)},
        {bits(0.1f), bits(-2), bits(3e30f), bits(1), bits(4), bits(-0.0f), bits(7), bits(1)}},
    {"R32G32B32A32_FLOAT", DXGI_FORMAT_R32G32B32A32_FLOAT, "float", 4,
        {bits(0.1f), bits(-2), bits(3e30f), bits(4), bits(5), bits(-0.0f), bits(7), bits(-8)},
        {bits(0.1f), bits(-2), bits(3e30f), bits(4), bits(5), bits(-0.0f), bits(7), bits(-8)}},
    {"R32G32B32A32_UINT", DXGI_FORMAT_R32G32B32A32_UINT, "uint", 4,
        {1, 0x80000000, 0x12345678, ~0u, 5, 6, 7, 0x3f800000}, {1, 0x80000000, 0x12345678, ~0u, 5, 6, 7, 0x3f800000}},
    {"R32G32B32A32_SINT", DXGI_FORMAT_R32G32B32A32_SINT, "int", 4,
        {1, 0x80000000, 0x12345678, ~0u, 5, 6, 7, 0x3f800000}, {1, 0x80000000, 0x12345678, ~0u, 5, 6, 7, 0x3f800000}},
};

// A shader gets the bits that the format of its input decodes to, whatever numeric type it takes them for. Direct3D's own
// validation says so, and only that the types mismatch.
void input(const std::string& type, const Format& format) {
    const D3D11_INPUT_ELEMENT_DESC element = {"VALUE", 0, format.format, 0, 0, D3D11_INPUT_PER_VERTEX_DATA, 0};
    const std::string shader = "vs_" + type;
    auto bytes = code(shader);
    ID3D11InputLayout* layout = nullptr;
    check(device->CreateInputLayout(&element, 1, bytes.data(), bytes.size(), &layout), "CreateInputLayout");
    context->IASetInputLayout(layout);
    auto* from = buffer(format.stored, D3D11_BIND_VERTEX_BUFFER);
    const UINT stride = format.words * 4, offset = 0;
    context->IASetVertexBuffers(0, 1, &from, &stride, &offset);
    auto* to = target();
    use(shader.c_str(), stream_output(shader.c_str(), {{{0, "BITS", 0, 0, 4, 0}}, {16}}), POINTS);
    capture_to({to});
    context->Draw(2, 0);
    expect_words("data", read(to), format.loaded);
}

struct Case {
    std::string name;
    std::function<void()> run;
};

const Case CASES[] = {
    {"vertex shader: points", vertex_points},
    {"vertex shader: triangle strip", vertex_strip},
    {"vertex shader: indexed, instanced, cut", vertex_indexed_instanced},
    {"vertex shader: indirect", vertex_indirect},
    {"vertex shader: two buffers", vertex_two_buffers},
    {"vertex shader: two buffers, a gap", vertex_gap},
    {"vertex shader: some components", vertex_components},
    {"geometry shader: amplified", geometry_twice},
    {"geometry shader: none to three", geometry_some},
    {"appended: vertex shader", append_vertex},
    {"appended: geometry shader", append_geometry},
    {"appended: 200 times", append_often},
    {"DrawAuto: captured", draw_auto_captured},
    {"DrawAuto: rasterized", draw_auto_rasterized},
    {"overflow: vertex shader", overflow_vertex},
    {"overflow: geometry shader", overflow_geometry},
    {"rasterized while captured: vertex shader", rasterized},
    {"rasterized while captured: geometry shader", rasterized_squares},
    {"two streams", two_streams},
    {"two streams: overflow in the first", two_streams_overflow},
    {"two streams: the first rasterized", two_streams_first_rasterized},
    {"two streams: the second rasterized", two_streams_second_rasterized},
};

// These, and an input of each type from each format that has another numeric type.
std::vector<Case> cases() {
    std::vector<Case> all(std::begin(CASES), std::end(CASES));
    for (const char* type : {"float", "int", "uint"})
        for (const Format& format : FORMATS)
            if (std::strcmp(format.type, type) != 0)
                all.push_back({std::string(type) + "4 from " + format.name, [=] { input(type, format); }});
    return all;
}

} // namespace

int main(int count, char** arguments) {
    if (count < 3) {
        for (const Case& each : cases()) std::printf("%s\n", each.name.c_str());
        return 0;
    }
    folder = arguments[1];
    for (const Case& each : cases()) {
        if (each.name != arguments[2]) continue;
        const D3D_FEATURE_LEVEL wanted[] = {D3D_FEATURE_LEVEL_11_1, D3D_FEATURE_LEVEL_11_0};
        try {
            D3D_FEATURE_LEVEL level = {};
            check(D3D11CreateDevice(nullptr, D3D_DRIVER_TYPE_HARDWARE, nullptr, 0, wanted, 2, D3D11_SDK_VERSION, &device, &level,
                      &context),
                "D3D11CreateDevice");
            each.run();
        } catch (const Failure& failure) {
            wrong = failure.what;
        }
        std::printf("%s\t%s\t%s\n", each.name.c_str(), wrong.empty() ? "pass" : "fail", wrong.empty() ? detail.c_str() : wrong.c_str());
    }
    return 0;
}
