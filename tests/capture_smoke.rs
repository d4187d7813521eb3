//! smoke
use vkxfb::probe::{gpu::*, plan::Plan, report::*, run};
#[test]
fn probe_all() {
    let mut gpu = Gpu::open(&OpenOptions { validation: std::env::var_os("NOVAL").is_none(), ..Default::default() }).unwrap();
    let backends = gpu.backends().to_vec();
    let mut plan = Plan::full(&backends, gpu.context().max_workgroups_per_axis()).unwrap();
    if std::env::var_os("FULL").is_none() { plan.quick(); }
    let mut report = ProbeReport::new(vkxfb::probe::report::DeviceInfo::default(), "");
    run::run(&mut gpu, &plan, &mut report, |p| { if std::env::var_os("P").is_some() { eprintln!("{} {} {} {} {}", p.done, p.group.backend, p.group.topology, p.group.provoking, p.group.subject.name); } });
    for c in &report.cells { println!("{:?} {} run {} passed {} rotated {} err {:?} skip {:?}", c.backend, c.topology, c.run, c.passed, c.rotated, c.first_error, c.skipped);
      if let Some(f) = &c.first_failure { println!("   {} {:?}", f.case, f.mismatch); } }
    println!("{:?} {} s", report.outcome(), report.elapsed_s);
    for m in gpu.close() { println!("{m:?}"); }
}
