// What d3d11.cpp draws with. Whole numbers, so that each result is exact.

struct Vertex
{
    float4 position : SV_Position;
    uint id : ID;
};

// Vertex i lies in the middle of pixel i of a target of 64 pixels.
float4 at(uint pixel)
{
    return float4((pixel + 0.5) / 32.0 - 1.0, 0, 0, 1);
}

Vertex vs_numbers(uint id : SV_VertexID, uint instance : SV_InstanceID)
{
    Vertex vertex;
    vertex.position = float4(id, id * 2, instance, 1);
    vertex.id = id * 16 + instance;
    return vertex;
}

Vertex vs_pixels(uint id : SV_VertexID)
{
    Vertex vertex;
    vertex.position = at(id);
    vertex.id = id;
    return vertex;
}

// What was captured, once more.
Vertex vs_again(float4 position : POSITION, uint id : ID)
{
    Vertex vertex;
    vertex.position = position;
    vertex.id = id + 1000;
    return vertex;
}

// The bits of an input that the shader takes for a vector of that type, whatever the format is.
uint4 vs_float(float4 value : VALUE) : BITS
{
    return asuint(value);
}

uint4 vs_int(int4 value : VALUE) : BITS
{
    return asuint(value);
}

uint4 vs_uint(uint4 value : VALUE) : BITS
{
    return value;
}

uint4 ps_id(Vertex vertex) : SV_Target
{
    return uint4(vertex.id + 1, 0, 0, 0);
}

// Each triangle twice, as strips.
[maxvertexcount(6)]
void gs_twice(triangle Vertex triangle_in[3], uint primitive : SV_PrimitiveID, inout TriangleStream<Vertex> stream)
{
    for (uint copy = 0; copy < 2; copy++) {
        for (uint i = 0; i < 3; i++) {
            Vertex vertex = triangle_in[i];
            vertex.position.z = copy;
            vertex.position.w = primitive;
            vertex.id = vertex.id + copy;
            stream.Append(vertex);
        }
        stream.RestartStrip();
    }
}

// As many points as the last two bits of the vertex say.
[maxvertexcount(3)]
void gs_some(point Vertex point_in[1], inout PointStream<Vertex> stream)
{
    uint count = (point_in[0].id / 16) & 3;
    for (uint i = 0; i < count; i++) {
        Vertex vertex = point_in[0];
        vertex.position.w = i;
        stream.Append(vertex);
    }
}

// A square, as high as the target and as wide as a pixel.
[maxvertexcount(4)]
void gs_squares(point Vertex point_in[1], inout TriangleStream<Vertex> stream)
{
    for (uint i = 0; i < 4; i++) {
        Vertex vertex = point_in[0];
        vertex.position.x += i % 2 == 0 ? -1.0 / 64.0 : 1.0 / 64.0;
        vertex.position.y = i < 2 ? 1.0 : -1.0;
        stream.Append(vertex);
    }
}

struct First
{
    float4 position : SV_Position;
    uint id : FIRST;
};

struct Second
{
    float4 position : SV_Position;
    uint2 numbers : SECOND;
};

// One point to stream 0, two to stream 1 but for every third.
[maxvertexcount(3)]
void gs_streams(point Vertex point_in[1], inout PointStream<First> first, inout PointStream<Second> second)
{
    First to_first;
    to_first.position = point_in[0].position;
    to_first.id = point_in[0].id;
    first.Append(to_first);
    if (point_in[0].id % 3 != 0) {
        for (uint i = 0; i < 2; i++) {
            Second to_second;
            // Two pixels further to the right.
            to_second.position = point_in[0].position + float4(1.0 / 16.0, 0, 0, 0);
            to_second.numbers = uint2(point_in[0].id, i);
            second.Append(to_second);
        }
    }
}

uint4 ps_first(First vertex) : SV_Target
{
    return uint4(vertex.id + 1, 0, 0, 0);
}

uint4 ps_second(Second vertex) : SV_Target
{
    return uint4(vertex.numbers.x + 100, 0, 0, 0);
}
