//! Pipelines of the identifiers of shader modules (`VK_EXT_shader_module_identifier`), natively and on
//! the Vulkan layer: they capture as those of the modules, or have to be compiled first.

use ash::{ext, vk};

use super::program::Program;
use crate::common::native::WRITES;
use crate::common::{self, attachment, discard, layer};

/// The same but for what it captures.
const CAPTURES_NOTHING: &str = "#version 450
    layout(location = 0) out flat uint captured;
    void main() {
        captured = gl_VertexIndex;
        gl_Position = vec4(0.0);
        gl_PointSize = 1.0;
    }";

const POINTS: u32 = 5;

/// Creates a pipeline of a module, or of an identifier.
///
/// # Safety
/// The handles are of the device.
unsafe fn pipeline(
    device: &ash::Device,
    layout: vk::PipelineLayout,
    cache: vk::PipelineCache,
    module: vk::ShaderModule,
    identifier: &[u8],
) -> Result<vk::Pipeline, vk::Result> {
    let mut of = vk::PipelineShaderStageModuleIdentifierCreateInfoEXT::default();
    let mut stage = vk::PipelineShaderStageCreateInfo::default()
        .stage(vk::ShaderStageFlags::VERTEX)
        .module(module)
        .name(c"main");
    let mut flags = vk::PipelineCreateFlags::empty();
    if !identifier.is_empty() {
        of = of.identifier(identifier);
        stage = stage.push_next(&mut of);
        flags |= vk::PipelineCreateFlags::FAIL_ON_PIPELINE_COMPILE_REQUIRED;
    }
    let stages = [stage];
    let info =
        vk::GraphicsPipelineCreateInfo::default().flags(flags).stages(&stages).layout(layout);
    // SAFETY: the device is live, and the structures are valid.
    unsafe { discard::create(device, cache, info) }
}

#[test]
fn pipelines_of_identifiers_capture() {
    let mut feature = vk::PhysicalDeviceShaderModuleIdentifierFeaturesEXT::default()
        .shader_module_identifier(true);
    let chain = (&raw mut feature).cast();
    let Some(mut program) = Program::newer(&[ext::shader_module_identifier::NAME], chain) else {
        return;
    };
    let usage = vk::BufferUsageFlags::TRANSFORM_FEEDBACK_BUFFER_EXT;
    let (target, captured) = program.buffer(POINTS as usize, usage);
    let captured = captured.cast::<[u32; POINTS as usize]>();
    let (raw, functions) = (&program.raw, program.xfb());
    let identifiers = ext::shader_module_identifier::Device::new(program.instance(), raw);
    // SAFETY: every handle is of the device, and in use only until the submission is done.
    unsafe {
        let layout = raw.create_pipeline_layout(&Default::default(), None).unwrap();
        let cache = raw.create_pipeline_cache(&Default::default(), None).unwrap();
        let capture = |pipeline| {
            captured.write([u32::MAX; POINTS as usize]);
            program.submit(WRITES, |cmd| {
                raw.cmd_bind_pipeline(cmd, vk::PipelineBindPoint::GRAPHICS, pipeline);
                let bind = functions.cmd_bind_transform_feedback_buffers_ext;
                let size = u64::from(4 * POINTS);
                bind(cmd, 0, 1, &raw const target, [0].as_ptr(), [size].as_ptr());
                let area = attachment::area(1);
                let info = vk::RenderingInfo::default().render_area(area).layer_count(1);
                raw.cmd_begin_rendering(cmd, &info);
                functions.begin(cmd);
                raw.cmd_draw(cmd, POINTS, 1, 0, 0);
                functions.end(cmd);
                raw.cmd_end_rendering(cmd);
            });
            captured.read()
        };
        let expected = [0, 1, 2, 3, 4];
        let words = common::compile(common::CAPTURES, &[]);
        let module = attachment::shader_module(raw, &words);
        let identify = |module| {
            let mut identifier = vk::ShaderModuleIdentifierEXT::default();
            let get = identifiers.fp().get_shader_module_identifier_ext;
            get(raw.handle(), module, &mut identifier);
            identifier.identifier[..identifier.identifier_size as usize].to_vec()
        };
        let identifier = identify(module);
        assert!(!identifier.is_empty());
        let info = vk::ShaderModuleCreateInfo::default().code(&words);
        let mut same = vk::ShaderModuleIdentifierEXT::default();
        let get = identifiers.fp().get_shader_module_create_info_identifier_ext;
        get(raw.handle(), &info, &mut same);
        assert_eq!(same.identifier[..same.identifier_size as usize], identifier);
        let other = attachment::shader_module(raw, &common::compile(CAPTURES_NOTHING, &[]));
        assert_ne!(identify(other), identifier, "they differ in what they capture");

        let null = vk::ShaderModule::null();
        let of_module = pipeline(raw, layout, cache, module, &[]).unwrap();
        raw.destroy_shader_module(module, None);
        assert_eq!(capture(of_module), expected);
        match pipeline(raw, layout, cache, null, &identifier) {
            Ok(of_identifier) => {
                assert_eq!(capture(of_identifier), expected);
                eprintln!("a pipeline of an identifier captured");
                raw.destroy_pipeline(of_identifier, None);
            }
            Err(error) => assert_eq!(error, vk::Result::PIPELINE_COMPILE_REQUIRED),
        }
        // Of words that nobody has.
        let unknown: Vec<u8> = identifier.iter().map(|byte| !byte).collect();
        let made = pipeline(raw, layout, cache, null, &unknown);
        assert_eq!(made, Err(vk::Result::PIPELINE_COMPILE_REQUIRED));

        raw.destroy_shader_module(other, None);
        raw.destroy_pipeline(of_module, None);
        raw.destroy_pipeline_cache(cache, None);
        raw.destroy_pipeline_layout(layout, None);
    }
}

#[test]
fn pipelines_of_identifiers_capture_on_the_layer() {
    layer::run_on_it(pipelines_of_identifiers_capture, &[]);
}
