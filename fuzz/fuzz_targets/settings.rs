//! The bytes of a `vk_layer_settings.txt`, which the layer reads when a program creates an instance.

#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use vkxfb_fuzz::layer::SettingsFile;

static FILE: LazyLock<SettingsFile> = LazyLock::new(SettingsFile::new);

fuzz_target!(|bytes: &[u8]| FILE.read(bytes));
