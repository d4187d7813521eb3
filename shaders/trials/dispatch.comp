// Writes the arguments of an indirect dispatch, or counts the workgroups of a dispatch: see
// probe/src/gpu/trials/dispatch.rs.
#version 450

layout(local_size_x = 1) in;

layout(set = 0, binding = 0) buffer Words {
    uint words[];
};
layout(push_constant) uniform Dispatch {
    // The index in `words` of the arguments, or of the first count.
    uint first;
    // The number of workgroups along each axis.
    uint x;
    uint y;
    uint z;
    // Whether the shader writes the arguments of an indirect dispatch. Otherwise it counts its workgroup.
    uint is_argument;
};

void main() {
    if (is_argument != 0u) {
        words[first] = x;
        words[first + 1u] = y;
        words[first + 2u] = z;
        return;
    }
    uvec3 group = gl_WorkGroupID;
    bool is_inside = all(lessThan(group, uvec3(x, y, z)));
    // The last count is for workgroups that should not exist.
    uint at = is_inside ? group.x + x * (group.y + y * group.z) : x * y * z;
    atomicAdd(words[first + at], 1u);
}
