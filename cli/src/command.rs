//! The commands, and the help that all have together.

use clap::{Parser, Subcommand};

use crate::{bench, broadcast, capture, info, inspect, layer, lower, manual, probe, split, strip};

/// Transform feedback for every Vulkan device, by compute.
#[derive(Debug, Parser)]
#[command(name = "vkxfb", version, about, after_help = EXAMPLES, arg_required_else_help = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXAMPLES: &str = r#"Examples:
  vkxfb info                          which devices there are, and what each allows
  vkxfb probe                         capture all topologies on every device, by every backend
  vkxfb probe --quick --html out.html the same in short, with pictures
  vkxfb probe --quick --junit out.xml the same for a CI system
  vkxfb probe --profile bifrost       as on a Mali-G52: Vulkan 1.0, compute alone
  vkxfb probe --report bug.md         with a file for the driver's maintainer
  vkxfb probe compare old.md new.md   which cases another driver made right, and which wrong
  vkxfb bench                         how fast: beside native, and beside what the memory allows
  vkxfb inspect my.vert.spv           a shader's outputs, and where what is captured of them goes
  vkxfb lower my.wgsl --backend compute --varyings colour,@Position -o out.spv
  vkxfb capture my.vert.spv --mesh bunny.obj -o out.ply
                                      what a shader makes of a mesh: also as CSV, JSON or a picture
  vkxfb capture my.vert --geometry my.geom --vertices 6 --picture out.png
                                      what a geometry shader behind a vertex shader emits
  vkxfb capture my.vert --control my.tesc --evaluation my.tese --patch-control-points 3 --vertices 6
                                      what tessellation shaders make of two patches
  vkxfb probe shader my.vert.spv --topology triangle-strip --vertices 7
                                      whether a shader of yours is captured alike by every backend
  vkxfb layer install --user          let the Vulkan loader find the layer
  vkxfb completions bash              what a shell completes commands with; vkxfb man prints a page
vkxfb COMMAND --help has more.

Shaders are SPIR-V, vertex shaders in WGSL, or GLSL, which glslang compiles
where it is installed.

--varyings takes outputs by name (colour, block.matrix, light[2].position,
gl_Position) or by place: @3 is the output at location 3, @3.yz the second and
third of that location's components, @Position the built-in. vkxfb inspect
lists both. gl_SkipComponents1 to gl_SkipComponents4 leave a gap,
gl_NextBuffer moves on to the next buffer.

stream-output.json holds Gallium's stream outputs; offsets and strides count
dwords:
  { "strides": [4],
    "outputs": [{ "register_index": 0, "start_component": 0, "num_components": 4,
                  "output_buffer": 0, "dst_offset": 0, "stream": 0 }] }
A register is the number of an output among those written, in the order of
gl_varying_slot. COL0 to VIEWPORT_MASK are at locations 0 to 10 and VARn at 11
+ n; with "locations": "unpacked" VARn is at n. "outputs_written" may give the
mask of slots, which is otherwise worked out.

Set VKXFB_LOG=debug (or trace) to see what is decided, for example
VKXFB_LOG=vkxfb_rewriter::lower=trace.

Exit status: 0 all right; 1 the probe, the benchmark or a comparison found
something wrong; 2 it could not run."#;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Measure how fast captures are, compared with the driver's own and with a kernel that only
    /// moves the bytes.
    Bench(bench::BenchArguments),
    /// Let a fragment shader write its colour to every attachment.
    BroadcastColor(broadcast::BroadcastArguments),
    /// Capture the outputs of a vertex, tessellation evaluation or geometry shader, for a mesh or a
    /// number of vertices.
    Capture(capture::CaptureArguments),
    /// Print a script with which a shell completes commands and options.
    Completions(manual::CompletionArguments),
    /// List the devices, the backends that are available on each, and why others are not.
    Info(info::InfoArguments),
    /// Show what a shader captures, and the locations that it does not use.
    Inspect(inspect::InspectArguments),
    /// Install the Vulkan layer, or print its manifest.
    Layer(layer::LayerArguments),
    /// Rewrite a shader for a backend.
    Lower(lower::LowerArguments),
    /// Print the manual page, in roff.
    Man,
    /// Make each member of a shader's output blocks and structures a variable.
    SplitBlocks(split::SplitArguments),
    /// Remove transform feedback from a module, for a driver that should not capture.
    StripXfb(strip::StripArguments),
    /// Capture every topology and compare the bytes with a model of the specification.
    Probe(probe::ProbeArguments),
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    /// Checks the width of the text that follows the options, for a command and its subcommands.
    fn check_width(command: &clap::Command) {
        let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        for line in help.lines() {
            // Examples may be wider, because each stays on one line to be copied. Only the examples of `capture` are
            // checked like other text.
            let is_example = line.starts_with("  ") && command.get_name() != "capture";
            assert!(is_example || line.chars().count() <= 78, "{}: {line}", command.get_name());
        }
        command.get_subcommands().for_each(check_width);
    }

    #[test]
    fn help_fits_into_a_terminal() {
        check_width(&Arguments::command());
    }
}
