#!/usr/bin/env python3
"""A triangle strip captured from Python, on a device that needs no VK_EXT_transform_feedback.

    strip.py vkxfb.h libvkxfb.so SHADER.spv

It takes the package `vulkan` of PyPI, which brings cffi. SHADER is shaders/bench/stream.spv, whose outputs are the
position and its components in reverse plus 1. Between vkxfb_required_features_create and the captured bytes, all is as
in examples/c/minimal.c. With VK_INSTANCE_LAYERS=VK_LAYER_KHRONOS_validation in the environment the validation layer
looks on.
"""

import pathlib
import struct
import sys

import cffi
import vulkan as vk

API_VERSION = vk.VK_MAKE_VERSION(1, 2, 0)
VERTICES = 5
PRIMITIVES = VERTICES - 2
RECORD = struct.Struct("8f")

# cffi parses the header: Vulkan's declarations from the package, and those of vkxfb as they are.
ffi = cffi.FFI()
ffi.cdef((pathlib.Path(vk.__file__).parent / "vulkan.cdef.h").read_text())
ffi.cdef(pathlib.Path(sys.argv[1]).read_text().split("/* declarations */")[1])
vkxfb = ffi.dlopen(sys.argv[2])


def passed(kind, value):
    """A handle or a structure of the package, for a function of vkxfb: cffi has types of its own for each parser."""
    if vk.ffi.typeof(value).kind == "struct":
        value = vk.ffi.addressof(value)
    return ffi.cast(kind, int(vk.ffi.cast("uintptr_t", value)))


def initialized(name, **members):
    """A structure of vkxfb with its size, and zero in the members that are not given."""
    made = ffi.new(f"{name} *", members)
    made.structSize = ffi.sizeof(name)
    return made


def call(function, *arguments):
    """Calls a function of vkxfb that may fail."""
    if function(*arguments) != vkxfb.VKXFB_SUCCESS:
        raise RuntimeError(ffi.string(vkxfb.vkxfb_last_error()).decode())


def create(kind, function, *arguments):
    """Calls a function of vkxfb that creates an object, and returns that."""
    created = ffi.new(f"{kind} **")
    call(function, *arguments, created)
    return created[0]


# What a program has anyway: an instance, and a device with what vkxfb adds to it.
application = vk.VkApplicationInfo(apiVersion=API_VERSION)
# Devices that lack parts of Vulkan, such as those of macOS, are there for those only who ask for them.
portability = vk.VK_KHR_PORTABILITY_ENUMERATION_EXTENSION_NAME
extensions = [found.extensionName for found in vk.vkEnumerateInstanceExtensionProperties(None)]
names = [portability] if portability in extensions else []
flags = vk.VK_INSTANCE_CREATE_ENUMERATE_PORTABILITY_BIT_KHR if names else 0
instance_info = vk.VkInstanceCreateInfo(
    flags=flags, pApplicationInfo=application, ppEnabledExtensionNames=names
)
instance = vk.vkCreateInstance(instance_info, None)
physical_device = vk.vkEnumeratePhysicalDevices(instance)[0]

info = initialized(
    "VkxfbPhysicalDeviceInfo",
    getInstanceProcAddr=passed(
        "PFN_vkGetInstanceProcAddr", vk.ffi.addressof(vk.lib, "vkGetInstanceProcAddr")
    ),
    instance=passed("VkInstance", instance),
    apiVersion=API_VERSION,
    physicalDevice=passed("VkPhysicalDevice", physical_device),
)
required = create("VkxfbRequiredFeatures", vkxfb.vkxfb_required_features_create, info)
queue_info = vk.VkDeviceQueueCreateInfo(queueFamilyIndex=0, queueCount=1, pQueuePriorities=[1.0])
device_info = vk.VkDeviceCreateInfo(pQueueCreateInfos=[queue_info])
call(vkxfb.vkxfb_required_features_add_to, required, passed("VkDeviceCreateInfo *", device_info))
device = vk.vkCreateDevice(physical_device, device_info, None)
context = create(
    "VkxfbContext",
    vkxfb.vkxfb_context_create,
    required,
    passed("VkDevice", device),
    ffi.NULL,
)
vkxfb.vkxfb_required_features_destroy(required)
properties = initialized("VkxfbContextProperties")
call(vkxfb.vkxfb_context_get_properties, context, properties)


def make_buffer(size):
    """A buffer for captures, its memory, and that memory's bytes."""
    buffer = vk.vkCreateBuffer(
        device, vk.VkBufferCreateInfo(size=size, usage=properties.bufferUsage), None
    )
    requirements = vk.vkGetBufferMemoryRequirements(device, buffer)
    types = vk.vkGetPhysicalDeviceMemoryProperties(physical_device).memoryTypes
    wanted = vk.VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | vk.VK_MEMORY_PROPERTY_HOST_COHERENT_BIT
    number = next(
        number
        for number in range(len(types))
        if requirements.memoryTypeBits >> number & 1
        and types[number].propertyFlags & wanted == wanted
    )
    flags = vk.VkMemoryAllocateFlagsInfo(flags=properties.memoryAllocateFlags, deviceMask=0)
    allocate = vk.VkMemoryAllocateInfo(
        pNext=flags, allocationSize=requirements.size, memoryTypeIndex=number
    )
    memory = vk.vkAllocateMemory(device, allocate, None)
    vk.vkBindBufferMemory(device, buffer, memory, 0)
    return buffer, memory, vk.vkMapMemory(device, memory, 0, size, 0)


def buffer_range(buffer, size):
    return ffi.new("VkxfbBufferRange *", [passed("VkBuffer", buffer), 0, size])


# A pipeline: the shader, the names of the outputs that are captured, and the states that decide what is captured.
code = pathlib.Path(sys.argv[3]).read_bytes()
words = ffi.from_buffer("uint32_t[]", code)
names = [ffi.new("char[]", name) for name in (b"first", b"second")]
varyings = ffi.new("const char *[]", names)
vertex_input = vk.VkPipelineVertexInputStateCreateInfo(
    pVertexBindingDescriptions=[
        vk.VkVertexInputBindingDescription(
            binding=0, stride=16, inputRate=vk.VK_VERTEX_INPUT_RATE_VERTEX
        )
    ],
    pVertexAttributeDescriptions=[
        vk.VkVertexInputAttributeDescription(
            location=0, binding=0, format=vk.VK_FORMAT_R32G32B32A32_SFLOAT, offset=0
        )
    ],
)
assembly = vk.VkPipelineInputAssemblyStateCreateInfo(
    topology=vk.VK_PRIMITIVE_TOPOLOGY_TRIANGLE_STRIP, primitiveRestartEnable=vk.VK_FALSE
)
pipeline_info = initialized(
    "VkxfbPipelineCreateInfo",
    codeSize=len(code),
    pCode=words,
    varyingCount=len(names),
    ppVaryings=varyings,
    pVertexInputState=passed("VkPipelineVertexInputStateCreateInfo *", vertex_input),
    pInputAssemblyState=passed("VkPipelineInputAssemblyStateCreateInfo *", assembly),
)
pipeline = create("VkxfbPipeline", vkxfb.vkxfb_pipeline_create, context, pipeline_info)
capture = create("VkxfbCapture", vkxfb.vkxfb_capture_create, context)

source, source_memory, vertices = make_buffer(VERTICES * 16)
for vertex in range(VERTICES):
    struct.pack_into("4f", vertices, vertex * 16, vertex, 0, 0, 1)
size = PRIMITIVES * 3 * RECORD.size
target, target_memory, records = make_buffer(size)

# In each frame: where vkCmdBeginTransformFeedbackEXT and its draws would stand.
pool = vk.vkCreateCommandPool(device, vk.VkCommandPoolCreateInfo(queueFamilyIndex=0), None)
commands = vk.vkAllocateCommandBuffers(
    device,
    vk.VkCommandBufferAllocateInfo(
        commandPool=pool, level=vk.VK_COMMAND_BUFFER_LEVEL_PRIMARY, commandBufferCount=1
    ),
)[0]
vk.vkBeginCommandBuffer(commands, vk.VkCommandBufferBeginInfo())
captured_range, vertex_range = buffer_range(target, size), buffer_range(source, VERTICES * 16)
begin = initialized(
    "VkxfbCaptureBeginInfo",
    pipeline=pipeline,
    bufferCount=1,
    pBuffers=captured_range,
    vertexBufferCount=1,
    pVertexBuffers=vertex_range,
)
draw = ffi.new("VkDrawIndirectCommand *", [VERTICES, 1, 0, 0])
written = initialized("VkxfbCaptured")
call(vkxfb.vkxfb_capture_begin, capture, begin)
call(vkxfb.vkxfb_capture_draw, capture, vk.VK_PRIMITIVE_TOPOLOGY_TRIANGLE_STRIP, draw)
recorded_to = passed("VkCommandBuffer", commands)
call(vkxfb.vkxfb_capture_end, capture, recorded_to, 0, ffi.NULL, written)
call(
    vkxfb.vkxfb_context_record_barrier,
    context,
    recorded_to,
    vk.VK_PIPELINE_STAGE_HOST_BIT,
    vk.VK_ACCESS_HOST_READ_BIT,
)
vk.vkEndCommandBuffer(commands)
queue = vk.vkGetDeviceQueue(device, 0, 0)
vk.vkQueueSubmit(queue, 1, [vk.VkSubmitInfo(pCommandBuffers=[commands])], vk.VK_NULL_HANDLE)
vk.vkQueueWaitIdle(queue)

# Triangle i of a strip has the vertices i, i + 1 and i + 2; every other one swaps the last two of them.
assert written.isKnown and written.primitivesWritten == PRIMITIVES
found = list(RECORD.iter_unpack(bytes(records)))
for primitive in range(PRIMITIVES):
    odd = primitive % 2
    right = [primitive, primitive + 1 + odd, primitive + 2 - odd]
    triangle = found[primitive * 3 : primitive * 3 + 3]
    assert triangle == [(v, 0, 0, 1, 2, 1, 1, v + 1) for v in right], triangle
    print(f"primitive {primitive}:", *(f"v{record[0]:g}" for record in triangle))

vk.vkDestroyCommandPool(device, pool, None)
for buffer, memory in ((source, source_memory), (target, target_memory)):
    vk.vkDestroyBuffer(device, buffer, None)
    vk.vkFreeMemory(device, memory, None)
vkxfb.vkxfb_pipeline_destroy(pipeline)
vkxfb.vkxfb_capture_destroy(capture)
vkxfb.vkxfb_context_destroy(context)
vk.vkDestroyDevice(device, None)
vk.vkDestroyInstance(instance, None)
