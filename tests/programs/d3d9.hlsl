// What d3d9.cpp draws with.

struct Vertex
{
    float4 position : POSITION;
    float4 color : COLOR;
};

Vertex vs(Vertex vertex)
{
    return vertex;
}

float4 ps(float4 color : COLOR) : COLOR
{
    return color;
}
