//! Compares what `vulkaninfo` prints with and without the layer. The output must differ only in the
//! extension, in what belongs to the extension, and in the hidden extensions. The log must name
//! each hidden extension with a reason.
//!
//! If `tests/setup.sh --newest` starts the test, it runs the `vulkaninfo` of Debian unstable, and
//! otherwise the installed one.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use super::{LAYER, Ran, is_there, run};
use crate::skip::{Why, skip};

/// The features and properties that the layer reports instead of the driver, except those in the
/// extension's own structures.
const OWN: [&str; 9] = [
    "descriptorBufferPushDescriptors",
    "deviceGeneratedCommandsTransformFeedback",
    "dynamicGeneratedPipelineLayout",
    "extendedDynamicState3RasterizationStream",
    "inheritedConditionalRendering",
    "primitivesGeneratedQueryWithNonZeroStreams",
    "shaderBinaryUUID",
    "transformFeedbackPreservesProvokingVertex",
    "transformFeedbackPreservesTriangleFanProvokingVertex",
];

/// Returns the command that runs `vulkaninfo`.
fn vulkaninfo() -> Command {
    let Some(newest) = std::env::var_os("VKXFB_NEWEST") else { return Command::new("vulkaninfo") };
    let mut command = Command::new("run-newest");
    command.arg(Path::new(&newest).join("usr/bin/vulkaninfo"));
    command
}

/// Returns the lines of each section, by the title of the section.
fn sections(said: &str) -> BTreeMap<&str, BTreeSet<&str>> {
    let lines: Vec<&str> = said.lines().collect();
    let is_rule = |line: &str| !line.is_empty() && line.chars().all(|c| c == '-' || c == '=');
    let (mut sections, mut title) = (BTreeMap::<_, BTreeSet<&str>>::new(), "");
    for (number, line) in lines.iter().copied().enumerate() {
        if !line.starts_with('\t') && lines.get(number + 1).is_some_and(|next| is_rule(next)) {
            title = line.split(": count").next().unwrap().trim_end_matches(':');
        } else if !is_rule(line) && !line.is_empty() {
            // The amount of used memory differs from run to run.
            let varies = ["usage", "budget"].iter().any(|name| line.trim().starts_with(name));
            if !varies {
                sections.entry(title).or_default().insert(line);
            }
        }
    }
    sections
}

/// Returns the name of an extension as it is in names of structures: `ShaderObject` for
/// `VK_EXT_shader_object`.
fn part_of_names(extension: &str) -> String {
    let words = extension.splitn(3, '_').nth(2).unwrap().split('_');
    words.map(|word| word[..1].to_uppercase() + &word[1..]).collect()
}

#[test]
fn vulkaninfo_differs_by_what_is_documented() {
    if !is_there() {
        return;
    }
    if vulkaninfo().arg("--summary").output().is_err() {
        return skip(Why::Expected("there is no vulkaninfo"));
    }
    let Ran { stdout: native, .. } = run(&mut vulkaninfo(), &[], &[]);
    let log = [("VKXFB_FORCE_ENABLE", "1"), ("VKXFB_LOG", "vkxfb_layer=debug")];
    let Ran { stdout: layered, stderr } = run(&mut vulkaninfo(), &[LAYER], &log);
    assert!(native.contains("VkPhysicalDeviceProperties:"), "{native}");

    let hidden: BTreeMap<&str, &str> = stderr
        .lines()
        .filter_map(|line| line.split_once(" is hidden: "))
        .map(|(before, reason)| (before.split(' ').next_back().unwrap(), reason))
        .collect();
    for (name, reason) in &hidden {
        eprintln!("hidden: {name}: {reason}");
        assert_ne!(*reason, "the layer does not know it", "{name}: see CONTRIBUTING.md");
    }
    let extensions = |said: &str| -> BTreeSet<String> {
        let lines = said.lines().filter(|line| line.starts_with("\tVK_"));
        lines.map(|line| line.split_whitespace().next().unwrap().to_owned()).collect()
    };
    let (before, after) = (extensions(&native), extensions(&layered));
    let gone: Vec<&str> = before.difference(&after).map(String::as_str).collect();
    assert_eq!(gone, hidden.keys().copied().collect::<Vec<_>>(), "hidden without a reason");
    let more: Vec<_> = after.difference(&before).collect();
    assert!(more.iter().all(|name| *name == "VK_EXT_transform_feedback"), "{more:?}");

    let (native, layered) = (sections(&native), sections(&layered));
    let titles: BTreeSet<&str> = native.keys().chain(layered.keys()).copied().collect();
    let of_hidden = |title: &str| hidden.keys().any(|name| title.contains(&part_of_names(name)));
    let none = BTreeSet::new();
    for title in titles {
        let (before, after) = (native.get(title), layered.get(title));
        let is_own = title.contains("TransformFeedback") || title == "Layers";
        if is_own || after.is_none() && of_hidden(title) {
            continue;
        }
        let differs = before.unwrap_or(&none).symmetric_difference(after.unwrap_or(&none));
        for line in differs {
            let name = line.split(['=', ':']).next().unwrap().trim();
            let is_list = line.starts_with("Device Extensions") || name.starts_with("VK_");
            assert!(is_list || OWN.contains(&name), "{title}: {line}");
        }
    }
}
