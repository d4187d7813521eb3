use std::collections::BTreeMap;
use std::ffi::CStr;

use tempfile::TempDir;

use super::*;

/// A machine with a user's home, a working directory and environment variables.
struct Machine {
    root: TempDir,
    variables: BTreeMap<String, OsString>,
    properties: BTreeMap<String, String>,
    registered: Vec<PathBuf>,
}

impl Machine {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let home = root.path().join("home");
        let variables = BTreeMap::from([("HOME".to_owned(), home.into_os_string())]);
        Self { root, variables, properties: BTreeMap::new(), registered: Vec::new() }
    }

    fn set(&mut self, variable: &str, value: impl Into<OsString>) -> &mut Self {
        self.variables.insert(variable.to_owned(), value.into());
        self
    }

    fn path(&self, path: &str) -> PathBuf {
        self.root.path().join(path)
    }

    fn file(&self, path: &str, text: &str) -> PathBuf {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    fn read_with(&self, api: GivenSettings) -> (Settings, Vec<String>) {
        let (settings, problems) = Settings::read(Sources {
            environment: &|name| self.variables.get(name).cloned(),
            property: &|name| self.properties.get(name).cloned(),
            registered: self.registered.clone(),
            working_directory: self.path("here"),
            api,
        });
        (settings, problems.iter().map(ToString::to_string).collect())
    }

    /// Returns whether `force_enable` is set. Panics if there are problems with the settings.
    #[track_caller]
    fn is_forced(&self) -> bool {
        let (settings, problems) = self.read_with(GivenSettings::new());
        assert_eq!(problems, [""; 0]);
        settings.force_enable
    }
}

const FORCED: &str = "vkxfb_transform_feedback.force_enable = true\n";
const HOME: &str = "home/.local/share/vulkan/settings.d/vk_layer_settings.txt";

fn of_program(name: &str, value: SettingValue) -> GivenSettings {
    vec![(name.to_owned(), value, Origin::Api)]
}

#[test]
fn nothing_is_said() {
    let (settings, problems) = Machine::new().read_with(GivenSettings::new());
    assert_eq!(settings, Settings::default());
    assert_eq!(problems, [""; 0]);
}

#[test]
fn variables_of_the_environment() {
    for variable in ["VKXFB_FORCE_ENABLE", "VK_VKXFB_TRANSFORM_FEEDBACK_FORCE_ENABLE"] {
        for (value, forced) in [("1", true), ("TRUE", true), ("0", false), ("", false)] {
            assert_eq!(
                Machine::new().set(variable, value).is_forced(),
                forced,
                "{variable}={value}"
            );
        }
    }
    let mut machine = Machine::new();
    machine.set("VKXFB_LOG", "vkxfb_layer=debug,info");
    assert_eq!(machine.read_with(GivenSettings::new()).0.log, "vkxfb_layer=debug,info");
}

/// The layer draws no stages unless the user asks for that.
#[test]
fn stages_are_drawn_on_request() {
    let mut machine = Machine::new();
    assert!(!machine.read_with(GivenSettings::new()).0.draw_stages);
    machine.file(HOME, "vkxfb_transform_feedback.draw_stages = true\n");
    assert!(machine.read_with(GivenSettings::new()).0.draw_stages);
    machine.set("VKXFB_DRAW_STAGES", "0");
    assert!(!machine.read_with(GivenSettings::new()).0.draw_stages);
    let program = of_program("draw_stages", SettingValue::Bool(true));
    assert!(Machine::new().read_with(program).0.draw_stages);
}

/// The names of the system properties of Android are those in the documentation. Environment variables have precedence
/// over system properties.
#[test]
fn properties_of_the_system() {
    let names = NAMES.map(property_name);
    for (name, setting) in names.iter().zip(NAMES) {
        assert_eq!(*name, format!("debug.vkxfb.{setting}"));
    }
    let mut machine = Machine::new();
    machine.properties.insert("debug.vkxfb.force_enable".to_owned(), String::new());
    assert!(!machine.is_forced());
    machine.properties.insert("debug.vkxfb.force_enable".to_owned(), "1".to_owned());
    assert!(machine.is_forced());
    machine.file(HOME, &FORCED.replace("true", "false"));
    assert!(machine.is_forced(), "they come before files");
    machine.set("VKXFB_FORCE_ENABLE", "0");
    assert!(!machine.is_forced());
    machine.properties.insert("debug.vkxfb.log".to_owned(), "a=b=c".to_owned());
    let (_, problems) = machine.read_with(GivenSettings::new());
    assert!(problems[0].contains("(system property debug.vkxfb.log)"), "{problems:?}");
}

#[test]
fn files_that_the_registry_names() {
    let mut machine = Machine::new();
    machine.file("here/vk_layer_settings.txt", &FORCED.replace("true", "false"));
    let any = machine.file("any.txt", FORCED);
    machine.registered = vec![machine.path("absent.txt"), any];
    assert!(machine.is_forced(), "the first that is there, before the working directory");
    let named = machine.file("named/any.txt", "# nothing\n");
    machine.set("VK_LAYER_SETTINGS_PATH", named);
    assert!(!machine.is_forced(), "a file that is named comes first");
}

#[test]
fn files_are_looked_for_in_order() {
    let mut machine = Machine::new();
    machine.file("here/vk_layer_settings.txt", FORCED);
    assert!(machine.is_forced(), "the working directory");

    machine.file(HOME, &FORCED.replace("true", "false"));
    assert!(!machine.is_forced(), "the home comes before it");
    machine.file("data/vulkan/settings.d/vk_layer_settings.txt", FORCED);
    let data = machine.path("data");
    machine.set("XDG_DATA_HOME", data);
    assert!(machine.is_forced(), "and can be elsewhere");

    let named = machine.file("named/any.txt", "# nothing\n");
    machine.set("VK_LAYER_SETTINGS_PATH", named);
    assert!(!machine.is_forced(), "a file that is named comes first");
    machine.file("named/vk_layer_settings.txt", FORCED);
    let named = machine.path("named");
    machine.set("VK_LAYER_SETTINGS_PATH", named);
    assert!(machine.is_forced(), "or one in a directory");
}

#[test]
fn a_file_that_is_named_and_not_there_is_told_of() {
    let mut machine = Machine::new();
    machine.file("here/vk_layer_settings.txt", FORCED);
    let absent = machine.path("absent.txt");
    machine.set("VK_LAYER_SETTINGS_PATH", &absent);
    let (settings, problems) = machine.read_with(GivenSettings::new());
    assert!(settings.force_enable, "the next place counts");
    assert!(problems[0].starts_with(&absent.display().to_string()), "{problems:?}");
}

#[test]
fn lines_of_a_file() {
    for (text, forced) in [
        ("vkxfb_transform_feedback.force_enable=1", true),
        ("  VKXFB_transform_feedback.force_enable\t =\tTrue # why\r\n", true),
        ("#vkxfb_transform_feedback.force_enable = true", false),
        ("khronos_synchronization2.force_enable = true", false),
        ("vkxfb_transform_feedback.force_enable", false),
        ("\u{feff}= . =\nforce_enable = true\n", false),
        (&format!("{FORCED}{}", FORCED.replace("true", "false")), false),
    ] {
        let machine = Machine::new();
        machine.file(HOME, text);
        assert_eq!(machine.is_forced(), forced, "{text:?}");
    }
}

#[test]
fn the_environment_wins_over_the_file_and_the_file_over_the_program() {
    let mut machine = Machine::new();
    let program = || of_program("force_enable", SettingValue::Bool(true));
    assert!(machine.read_with(program()).0.force_enable);
    machine.file(HOME, &FORCED.replace("true", "false"));
    assert!(!machine.read_with(program()).0.force_enable);
    machine.set("VKXFB_FORCE_ENABLE", "1");
    assert!(machine.is_forced());
}

#[test]
fn what_makes_no_sense_is_told_of_and_passed_over() {
    let mut machine = Machine::new();
    let text = format!("\n{FORCED}vkxfb_transform_feedback.colour = red");
    let file = machine.file(HOME, &text);
    machine.set("VKXFB_FORCE_ENABLE", "perhaps").set("VKXFB_LOG", "a=b=c");
    let value = SettingValue::Other { ty: vk::LayerSettingTypeEXT::FLOAT64, count: 2 };
    let (settings, problems) = machine.read_with(of_program("log", value));
    assert_eq!(settings, Settings { force_enable: true, ..Settings::default() });
    let file = file.display();
    assert_eq!(
        problems,
        [
            format!("no setting colour ({file}:3); there are descriptors, draw_stages, force_enable, log, \
                 optimize_shaders, replace_partial, strict, withhold_passes"
            ),
            "force_enable cannot be \"perhaps\" (environment variable VKXFB_FORCE_ENABLE): it takes \
             true or false"
                .to_owned(),
            format!(
                "log cannot be \"a=b=c\" (environment variable VKXFB_LOG): it takes {}",
                Filter::EXPECTED
            ),
            format!(
                "log cannot be 2 of FLOAT64 (VK_EXT_layer_settings): it takes {}",
                Filter::EXPECTED
            ),
        ]
    );
}

#[test]
fn a_file_that_cannot_be_read_is_told_of() {
    let problem = SettingsFile("/nowhere/settings.txt".into()).read().unwrap_err();
    assert!(problem.to_string().starts_with("cannot read /nowhere/settings.txt: "), "{problem}");
}

#[test]
fn the_programs_settings() {
    let layer = crate::identity::NAME;
    let setting = |layer: &CStr, name: &CStr, ty, values: *const c_void| vk::LayerSettingEXT {
        p_layer_name: layer.as_ptr(),
        p_setting_name: name.as_ptr(),
        ty,
        value_count: 1,
        p_values: values,
        ..Default::default()
    };
    let (bool32, string) = (vk::LayerSettingTypeEXT::BOOL32, vk::LayerSettingTypeEXT::STRING);
    let yes = vk::TRUE;
    let yes = (&raw const yes).cast();
    let debug = c"debug".as_ptr();
    let debug = (&raw const debug).cast();
    let last = [setting(layer, c"log", string, debug)];
    let first = [
        setting(c"VK_LAYER_KHRONOS_validation", c"force_enable", bool32, yes),
        setting(layer, c"force_enable", bool32, yes),
    ];
    let last = vk::LayerSettingsCreateInfoEXT::default().settings(&last);
    let mut first = vk::LayerSettingsCreateInfoEXT::default().settings(&first);
    first.p_next = (&raw const last).cast();
    // SAFETY: the chain is valid.
    let found = unsafe { api::read((&raw const first).cast()) };
    let expected = [
        ("force_enable", SettingValue::Bool(true)),
        ("log", SettingValue::Text("debug".to_owned())),
    ];
    let expected = expected.map(|(name, value)| (name.to_owned(), value, Origin::Api));
    assert_eq!(found, expected);
    // SAFETY: an empty chain is valid.
    assert_eq!(unsafe { api::read(std::ptr::null()) }, []);
}
