//! Writes reports as JUnit XML, which hosted CI systems show beside other tests.
//!
//! There is a suite for each device and backend, with a test case for each row of the table, and one for the trials of
//! each device. Suites have the name of the device, since its number may be another one on the next machine. A backend
//! that the device lacks has a suite, too, with one skipped test case that says what is missing. A test case is a
//! failure if a capture or a trial is wrong, an error if one could not run, and skipped if nothing of it applies to the
//! device. So there is a failure or an error if and only if the outcome of the run is not
//! [`Outcome::AllRight`](crate::report::Outcome).

#![forbid(unsafe_code)]

use std::fmt::Display;
use std::io;

use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesText, Event};
use vkxfb_rewriter::lower::Backend;

use crate::report::{Cell, Failure, ProbeReport};
use crate::terminal::{in_line, printable};
use crate::trial::{TrialReport, TrialResult};

/// A suite of test cases, which CI systems show together.
struct Suite {
    name: String,
    /// The remarks about the run, and what the device is: names and values.
    properties: Vec<(&'static str, String)>,
    cases: Vec<TestCase>,
}

struct TestCase {
    name: String,
    result: TestResult,
}

enum TestResult {
    Passed,
    /// Nothing of the test case applies to the device, for this reason.
    Skipped(String),
    Failed(Problem),
    /// Something could not run.
    Error(Problem),
}

/// What is wrong with a test case.
struct Problem {
    /// The kind of problem in a few words, which is the same for similar problems.
    kind: String,
    /// The problem in one line.
    message: String,
    /// Everything that is known, in several lines.
    text: String,
}

impl Problem {
    fn new(kind: impl Display, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { kind: kind.to_string(), text: message.clone(), message }
    }
}

/// Writes the reports of a run, one for each device. `error` says why devices, or all of them, could not be probed.
///
/// # Errors
/// Errors of writing to memory, of which there should be none.
pub fn render(reports: &[ProbeReport], error: Option<&str>) -> io::Result<String> {
    let mut suites: Vec<Suite> =
        reports.iter().flat_map(|report| suites(report, &suite_name(report, reports))).collect();
    if let Some(error) = error {
        let result = TestResult::Error(Problem::new("could not run", error));
        let case = TestCase { name: "the probe runs".to_owned(), result };
        suites.push(Suite { name: "probe".to_owned(), properties: Vec::new(), cases: vec![case] });
    }
    // Adding to 0 leaves no negative zero, which the sum of no reports is.
    let seconds = reports.iter().fold(0.0, |sum, report| sum + report.elapsed_s);
    let all = || suites.iter().flat_map(|suite| &suite.cases);
    let mut writer = Writer::new_with_indent(Vec::new(), b' ', 2);
    writer.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    let root = writer.create_element("testsuites").with_attribute(("name", "vkxfb probe"));
    let root = root.with_attributes(counts(all()).iter().map(|(name, n)| (*name, n.as_str())));
    root.with_attribute(("time", format!("{seconds:.3}").as_str())).write_inner_content(
        |writer| suites.iter().try_for_each(|suite| write_suite(writer, suite)),
    )?;
    let mut text = String::from_utf8(writer.into_inner()).map_err(io::Error::other)?;
    text.push('\n');
    Ok(text)
}

/// Returns the attributes that say how many test cases there are, and how many are not right.
fn counts<'a>(cases: impl Iterator<Item = &'a TestCase> + Clone) -> [(&'static str, String); 4] {
    let count = |is: fn(&TestResult) -> bool| {
        cases.clone().filter(|case| is(&case.result)).count().to_string()
    };
    [
        ("tests", count(|_| true)),
        ("failures", count(|result| matches!(result, TestResult::Failed(_)))),
        ("errors", count(|result| matches!(result, TestResult::Error(_)))),
        ("skipped", count(|result| matches!(result, TestResult::Skipped(_)))),
    ]
}

fn write_suite(writer: &mut Writer<Vec<u8>>, suite: &Suite) -> io::Result<()> {
    let name = attribute(&suite.name);
    let element = writer.create_element("testsuite").with_attribute(("name", name.as_str()));
    let counts = counts(suite.cases.iter());
    let element = element.with_attributes(counts.iter().map(|(name, n)| (*name, n.as_str())));
    // Readers take a name apart at its dots, as that of a class in Java.
    let class = name.replace('.', "_");
    element.write_inner_content(|writer| {
        if !suite.properties.is_empty() {
            writer.create_element("properties").write_inner_content(|writer| {
                suite.properties.iter().try_for_each(|(name, value)| {
                    let element = writer.create_element("property").with_attribute(("name", *name));
                    element.with_attribute(("value", attribute(value).as_str())).write_empty()?;
                    Ok(())
                })
            })?;
        }
        suite.cases.iter().try_for_each(|case| write_case(writer, &class, case))
    })?;
    Ok(())
}

fn write_case(writer: &mut Writer<Vec<u8>>, class: &str, case: &TestCase) -> io::Result<()> {
    let name = attribute(&case.name);
    let element = writer.create_element("testcase").with_attribute(("classname", class));
    let element = element.with_attribute(("name", name.as_str()));
    let (problem, tag) = match &case.result {
        TestResult::Passed => {
            element.write_empty()?;
            return Ok(());
        }
        TestResult::Skipped(reason) => {
            element.write_inner_content(|writer| {
                let skipped = writer.create_element("skipped");
                skipped.with_attribute(("message", attribute(reason).as_str())).write_empty()?;
                Ok(())
            })?;
            return Ok(());
        }
        TestResult::Failed(problem) => (problem, "failure"),
        TestResult::Error(problem) => (problem, "error"),
    };
    element.write_inner_content(|writer| {
        let element = writer.create_element(tag);
        let element = element.with_attribute(("type", attribute(&problem.kind).as_str()));
        let element = element.with_attribute(("message", attribute(&problem.message).as_str()));
        element.write_text_content(BytesText::new(&legal(&printable(&problem.text))))?;
        Ok(())
    })?;
    Ok(())
}

/// Returns the value of an attribute, in which a reader would replace line breaks.
fn attribute(text: &str) -> String {
    legal(&in_line(text))
}

/// Replaces the characters that XML does not have, and that are neither control characters nor surrogates:
/// `<https://www.w3.org/TR/xml/#charsets>`.
fn legal(text: &str) -> String {
    text.replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}")
}

/// Returns what the suites of a device begin with: its name, and its number where another device has the same name.
fn suite_name(report: &ProbeReport, reports: &[ProbeReport]) -> String {
    let name = &report.device.name;
    let is_only = reports.iter().filter(|other| other.device.name == *name).count() == 1;
    match report.device.index.filter(|_| !is_only) {
        Some(index) => format!("{name} (device {index})"),
        None => name.clone(),
    }
}

/// Returns the suites of a device: that of its trials, and one for each backend with results, or which the device
/// lacks.
fn suites(report: &ProbeReport, device: &str) -> Vec<Suite> {
    let mut facts = report.facts();
    facts.extend(report.injected.iter().map(|remark| ("injected", remark.clone())));
    facts.extend(report.notes.iter().map(|note| ("note", note.clone())));
    let mut whole: Vec<TestCase> = report.trials.iter().map(of_trial).collect();
    if report.cases_run() == 0 {
        let problem = Problem::new("could not run", "nothing could run");
        whole.push(TestCase { name: "cases".to_owned(), result: TestResult::Error(problem) });
    }
    if !report.validation.is_empty() {
        let mut problem = Problem::new("validation", "the validation layer objects");
        problem.text = report.validation.join("\n");
        let name = "validation layer".to_owned();
        whole.push(TestCase { name, result: TestResult::Error(problem) });
    }
    let mut suites = Vec::new();
    if !whole.is_empty() {
        suites.push(Suite { name: format!("{device}: trials"), properties: facts, cases: whole });
    }
    for backend in Backend::ALL {
        let cells = report.rows().filter_map(|row| report.cell(backend, row));
        let mut cases: Vec<_> = cells.map(|cell| of_cell(report, cell)).collect();
        let lacking = report.device.backends.iter().find(|of| of.backend == backend);
        if let Some(missing) = lacking.map(|of| &of.missing)
            && cases.is_empty()
            && !missing.is_empty()
        {
            let result = TestResult::Skipped(missing.join(", "));
            cases.push(TestCase { name: "every topology".to_owned(), result });
        }
        if !cases.is_empty() {
            suites.push(Suite {
                name: format!("{device}: {backend}"),
                properties: Vec::new(),
                cases,
            });
        }
    }
    suites
}

fn of_trial(tried: &TrialReport) -> TestCase {
    let problem = || Problem::new(tried.result, tried.described());
    let result = match tried.result {
        TrialResult::Works | TrialResult::DoneWithout => TestResult::Passed,
        TrialResult::Absent => TestResult::Skipped(tried.text.clone()),
        TrialResult::Wrong => TestResult::Failed(problem()),
        TrialResult::NotRun | TrialResult::Lost => TestResult::Error(problem()),
    };
    TestCase { name: tried.trial.title().to_owned(), result }
}

fn of_cell(report: &ProbeReport, cell: &Cell) -> TestCase {
    let name = cell.row().to_string();
    let (lost, not_run) = report.errors_of(cell);
    let mut lines = Vec::new();
    let first = cell.first_failure.iter();
    let kept = report
        .mismatches
        .iter()
        .filter(|failure| (failure.backend, failure.case.row()) == (cell.backend, cell.row()));
    // The first wrong case of a cell is kept, even if those of other cells leave no room for the others.
    let others = kept.filter(|failure| {
        cell.first_failure.as_ref().is_none_or(|first| first.case != failure.case)
    });
    for failure in first.chain(others) {
        let Failure { case, mismatch, demand, command, .. } = failure;
        lines.push(format!("{case}: {mismatch}"));
        lines.push(format!("  {} {}", demand.text, demand.link));
        lines.extend(demand.conformance.iter().map(|name| format!("  {name}")));
        lines.push(format!("  $ {command}"));
        lines.extend(demand.program.iter().map(|program| format!("  $ {program}")));
    }
    for loss in &report.losses {
        if (loss.backend, loss.case.row()) == (cell.backend, cell.row()) {
            lines.push(format!("{}: {}", loss.case, loss.how));
            lines.push(format!("  $ {}", loss.command));
        }
    }
    if not_run > 0 {
        let error = cell.first_error.as_deref().unwrap_or_default();
        lines.push(format!("{not_run} of {} could not run: {error}", cell.run));
    }
    if cell.not_tried > 0 {
        lines.push(format!("{} not tried: {}", cell.not_tried, cell.not_tried_because.join("; ")));
    }
    let error = |kind: &str, message: String| {
        TestResult::Error(Problem { kind: kind.to_owned(), message, text: lines.join("\n") })
    };
    let first_error = cell.first_error.as_deref().unwrap_or_default();
    let result = if let Some(first) = &cell.first_failure {
        let message =
            format!("{} of {} captured wrong: {}", cell.failed(), cell.run, first.mismatch);
        let kind = first.mismatch.fault.name().to_owned();
        TestResult::Failed(Problem { kind, message, text: lines.join("\n") })
    } else if lost > 0 {
        error("lost", format!("{lost} of {} lost: {first_error}", cell.run))
    } else if not_run > 0 {
        error("could not run", format!("{not_run} of {} could not run: {first_error}", cell.run))
    } else if cell.not_tried > 0 {
        error("not tried", lines.join("; "))
    } else if cell.run == 0 {
        TestResult::Skipped(cell.skipped.clone().unwrap_or_default())
    } else {
        TestResult::Passed
    };
    TestCase { name, result }
}

#[cfg(test)]
mod tests {
    use quick_xml::{Reader, XmlVersion};

    use super::*;
    use crate::report::samples::sample_report;
    use crate::report::{Case, Outcome, outcome};
    use crate::trial::Trial;

    /// An element, with its attributes and its text.
    #[derive(Debug, Default)]
    struct Element {
        name: String,
        attributes: Vec<(String, String)>,
        text: String,
    }

    impl Element {
        fn get(&self, name: &str) -> &str {
            let found = self.attributes.iter().find(|(own, _)| own == name);
            &found.unwrap_or_else(|| panic!("no {name} in {self:?}")).1
        }
    }

    /// Reads XML, and returns all elements in the order in which they begin.
    fn elements(xml: &str) -> Vec<Element> {
        let mut reader = Reader::from_str(xml);
        reader.config_mut().check_end_names = true;
        let (mut found, mut open) = (Vec::<Element>::new(), 0);
        loop {
            let event = reader.read_event().unwrap();
            match &event {
                Event::Start(start) | Event::Empty(start) => {
                    let attributes = start.attributes().map(|attribute| {
                        let attribute = attribute.unwrap();
                        let name = attribute.key.as_ref().to_owned();
                        (
                            name,
                            attribute
                                .normalized_value(XmlVersion::Explicit1_0)
                                .unwrap()
                                .into_owned(),
                        )
                    });
                    found.push(Element {
                        name: start.name().as_ref().to_owned(),
                        attributes: attributes.collect(),
                        text: String::new(),
                    });
                    open += usize::from(matches!(event, Event::Start(_)));
                }
                Event::End(_) => open -= 1,
                Event::Text(text) => {
                    found.last_mut().into_iter().for_each(|element| element.text.push_str(text));
                }
                Event::GeneralRef(reference) => {
                    let name: &str = reference;
                    let text =
                        quick_xml::escape::unescape(&format!("&{name};")).unwrap().into_owned();
                    found.last_mut().unwrap().text += &text;
                }
                Event::Eof => break,
                _ => {}
            }
        }
        assert_eq!(open, 0);
        found
    }

    fn count(elements: &[Element], name: &str) -> usize {
        elements.iter().filter(|element| element.name == name).count()
    }

    #[test]
    fn every_kind_of_result_is_written() {
        let report = sample_report();
        let found = elements(&render(std::slice::from_ref(&report), None).unwrap());
        let root = &found[0];
        assert_eq!(root.name, "testsuites");
        for (attribute, name) in [
            ("tests", "testcase"),
            ("failures", "failure"),
            ("errors", "error"),
            ("skipped", "skipped"),
        ] {
            assert_eq!(root.get(attribute), count(&found, name).to_string(), "{attribute}");
            assert!(count(&found, name) > 0, "no {name}");
        }
        let trials = report.trials.len();
        assert_eq!(count(&found, "testcase"), report.cells.len() + trials);
        // The message is that of the report, and the command repeats the case.
        let first = &report.mismatches[0];
        let failure = found.iter().find(|element| element.name == "failure").unwrap();
        assert!(failure.get("message").ends_with(&first.mismatch.to_string()), "{failure:?}");
        assert!(failure.text.contains(&first.command), "{failure:?}");
        let lost = found.iter().find(|e| e.name == "error" && e.get("type") == "lost").unwrap();
        assert!(lost.get("message").contains("the device was lost"), "{lost:?}");
    }

    /// A CI system shows that a backend was not tried, and why, and the suite is called so on every machine.
    #[test]
    fn a_backend_that_the_device_lacks_is_skipped() {
        let mut report = sample_report();
        report.device.index = Some(1);
        report.cells.retain(|cell| cell.backend != Backend::Vertex);
        let suites_of = |reports: &[ProbeReport]| -> Vec<String> {
            let found = elements(&render(reports, None).unwrap());
            let suites = found.iter().filter(|element| element.name == "testsuite");
            suites.map(|suite| suite.get("name").to_owned()).collect()
        };
        let named = |device: &str| {
            ["trials", "native", "vertex", "compute"].map(|what| format!("{device}: {what}"))
        };
        let name = report.device.name.clone();
        assert_eq!(suites_of(std::slice::from_ref(&report)), named(&name));
        let found = elements(&render(std::slice::from_ref(&report), None).unwrap());
        let suite = format!("{name}: vertex").replace('.', "_");
        let of_suite = |element: &&Element| {
            element.name == "testcase" && element.get("classname") == suite.as_str()
        };
        assert_eq!(found.iter().filter(of_suite).count(), 1);
        let at = found.iter().position(|element| of_suite(&element)).unwrap();
        assert_eq!(found[at].get("name"), "every topology");
        assert_eq!(found[at + 1].name, "skipped");
        assert_eq!(found[at + 1].get("message"), "no feature vertexPipelineStoresAndAtomics");

        // Two boards of a kind in one machine have numbers.
        let mut second = sample_report();
        second.device.index = Some(2);
        second.cells.retain(|cell| cell.backend != Backend::Vertex);
        let both = [named(&format!("{name} (device 1)")), named(&format!("{name} (device 2)"))];
        assert_eq!(suites_of(&[report, second]), both.concat());
    }

    /// CI systems look at failures and errors, scripts at the exit status: they must agree.
    #[test]
    fn it_is_right_where_the_outcome_is() {
        let empty = || ProbeReport::new(sample_report().device, "");
        let case = Case { ..sample_report().mismatches[0].case.clone() };
        let right = || {
            let mut report = empty();
            report.record(Backend::Compute, &case, crate::diagnose::Verdict::Match);
            report
        };
        let with = |change: &dyn Fn(&mut ProbeReport)| {
            let mut report = right();
            change(&mut report);
            report
        };
        let trial = |result| TrialReport::new(Trial::Counters, result, "");
        for report in [
            right(),
            empty(),
            sample_report(),
            with(&|report| report.skip(Backend::Native, case.row(), "absent")),
            with(&|report| report.record_error(Backend::Native, &case, "refused")),
            with(&|report| report.record_loss(Backend::Native, &case, "lost")),
            with(&|report| report.validation.push("wrong".to_owned())),
            with(&|report| report.trials.push(trial(TrialResult::Works))),
            with(&|report| report.trials.push(trial(TrialResult::Absent))),
            with(&|report| report.trials.push(trial(TrialResult::DoneWithout))),
            with(&|report| report.trials.push(trial(TrialResult::Wrong))),
            with(&|report| report.trials.push(trial(TrialResult::NotRun))),
            with(&|report| report.trials.push(trial(TrialResult::Lost))),
        ] {
            let reports = [report];
            let found = elements(&render(&reports, None).unwrap());
            let bad = count(&found, "failure") + count(&found, "error");
            assert_eq!(bad == 0, outcome(&reports) == Outcome::AllRight, "{found:#?}");
            let found = elements(&render(&reports, Some("no driver")).unwrap());
            assert_eq!(count(&found, "failure") + count(&found, "error"), bad + 1);
        }
    }

    /// What drivers and files say comes out as it was, but for what XML does not have.
    #[test]
    fn everything_is_escaped() {
        let hostile = "<a b=\"c\">&amp;]]>'\u{1b}[2J\u{0}\u{ffff}\nä";
        let mut report = sample_report();
        report.device.name = hostile.to_owned();
        report.validation.push(hostile.to_owned());
        let xml = render(&[report], Some(hostile)).unwrap();
        let is_legal = |c: char| c >= ' ' || matches!(c, '\n' | '\t');
        assert!(xml.chars().all(|c| is_legal(c) && c != '\u{ffff}'), "{xml}");
        let found = elements(&xml);
        let shown = "<a b=\"c\">&amp;]]>'\\u{1b}[2J\\u{0}\u{fffd}";
        let suite = found.iter().find(|element| element.name == "testsuite").unwrap();
        assert_eq!(suite.get("name"), format!("{shown}\\u{{a}}ä: trials"));
        let error = found.iter().rfind(|element| element.name == "error").unwrap();
        // Behind it comes the indentation of what follows.
        assert_eq!(error.text.trim_end(), format!("{shown}\nä"));
        assert_eq!(error.get("message"), format!("{shown}\\u{{a}}ä"));
    }
}
