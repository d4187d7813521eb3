//! This module lists the functions of the shader library (`shaders/*.wgsl`) that lowering knows by
//! name: those that generated code calls, and stubs whose bodies are generated. The tests below
//! check that these lists match the library, so that no shader fails to lower because a function is
//! missing.

use spirv::Op;

use crate::spirv::Id;
use crate::spirv::emit::Code;
use crate::spirv::link::{LinkError, Linker};

macro_rules! names {
    ($(#[$doc:meta])* $enum:ident { $($variant:ident $name:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(super) enum $enum {
            $($variant,)*
        }

        #[allow(dead_code, reason = "of what is called only the tests need a list")]
        impl $enum {
            const ALL: &'static [Self] = &[$(Self::$variant,)*];

            pub(super) fn of(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|function| function.name() == name)
            }

            pub(super) const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }
        }
    };
}

names! {
    /// A function that generated code calls.
    Function {
        BaseInstance "base_instance",
        BaseVertex "base_vertex",
        ConvertSfloat "convert_sfloat",
        ConvertSint "convert_sint",
        ConvertSnorm "convert_snorm",
        ConvertSscaled "convert_sscaled",
        ConvertUfloat "convert_ufloat",
        ConvertUint "convert_uint",
        ConvertUnorm "convert_unorm",
        ConvertUscaled "convert_uscaled",
        DividedInstance "divided_instance",
        DrawIndex "draw_index",
        EmitStreamVertex "emit_stream_vertex",
        EmitVertex "emit_vertex",
        EndPrimitive "end_primitive",
        EndStreamPrimitive "end_stream_primitive",
        EvaluateSlices "evaluate_slices",
        Fetch1 "fetch1",
        Fetch2 "fetch2",
        Fetch3 "fetch3",
        Fetch4 "fetch4",
        Fetch2Behind4 "fetch2_behind4",
        Fetch4Behind4 "fetch4_behind4",
        FetchBytes "fetch_bytes",
        FetchHalves "fetch_halves",
        FetchUnaligned "fetch_unaligned",
        FetchWithinDword "fetch_within_dword",
        HasEffects "has_effects",
        ListedRecord "listed_record",
        Load1 "load1",
        Load2Aligned "load2_aligned",
        Load4Aligned "load4_aligned",
        Load4AlignedFromAny "load4_aligned_from_any",
        MayStoreWide "may_store_wide",
        MultiplyAdd "multiply_add",
        PatchControlPoints "patch_control_points",
        RecordAddress "record_address",
        RunGeometry "run_geometry",
        RunSlice "run_slice",
        RunSliceGeometry "run_slice_geometry",
        StageEmittedItem "stage_emitted_item",
        StageSlice "stage_slice",
        Store1 "store1",
        Store2 "store2",
        Store2Aligned "store2_aligned",
        Store3 "store3",
        Store4 "store4",
        Store4Aligned "store4_aligned",
        StoreEmittedItems "store_emitted_items",
        TableAddress "table_address",
        UseDrawAt "use_draw_at",
        VertexOfListed "vertex_of_listed",
        XfbCompute "xfb_compute",
        XfbComputeStaged "xfb_compute_staged",
        XfbDrawn "xfb_drawn",
        XfbGeometry "xfb_geometry",
        XfbIsBound "xfb_is_bound",
        XfbVertex "xfb_vertex",
    }
}

impl Function {
    /// Returns the function that stores `dwords` dwords, 1 to 4. If `aligned` is true, the address must be a multiple
    /// of their size, and 2 or 4 dwords are stored at once.
    pub(super) const fn store(dwords: u32, aligned: bool) -> Self {
        match (dwords, aligned) {
            (..=1, _) => Self::Store1,
            (2, false) => Self::Store2,
            (2, true) => Self::Store2Aligned,
            (3, _) => Self::Store3,
            (4.., false) => Self::Store4,
            (4.., true) => Self::Store4Aligned,
        }
    }

    /// Returns the function that fetches the first `dwords` dwords of an attribute, 1 to 4.
    pub(super) const fn fetch(dwords: u32) -> Self {
        match dwords {
            ..=1 => Self::Fetch1,
            2 => Self::Fetch2,
            3 => Self::Fetch3,
            4.. => Self::Fetch4,
        }
    }

    /// Returns the function that fetches the last `dwords` dwords, 2 or 4, of an attribute of more
    /// than four dwords: those after the fourth.
    pub(super) const fn fetch_behind4(dwords: u32) -> Self {
        match dwords {
            ..=2 => Self::Fetch2Behind4,
            3.. => Self::Fetch4Behind4,
        }
    }

    /// Returns the id that the function has in the linker's module, to which [`Linker::finish`]
    /// adds it.
    pub(super) fn id(self, linker: &mut Linker<'_, '_>) -> Result<Id, LinkError> {
        linker.function(self.name())
    }

    /// Generates the body of a stub that calls the function with the stub's parameters.
    pub(super) fn called(
        self,
        linker: &mut Linker<'_, '_>,
        parameters: &[Id],
    ) -> Result<Code, LinkError> {
        let function = self.id(linker)?;
        let (void, mut code) = (linker.builder.void(), Code::default());
        code.call(&mut linker.builder, void, function, parameters);
        code.push(Op::Return, &[]);
        Ok(code)
    }
}

names! {
    /// A function of `shaders/stubs.wgsl` for access to memory and address arithmetic.
    /// [`Memory`](super::resources::Memory) generates its body, for captures as well as for
    /// kernels.
    MemoryStub {
        AddBytes "add_bytes",
        Load1 "load1",
        Load1FromAny "load1_from_any",
        Load1Written "load1_written",
        Load2 "load2",
        Load2Aligned "load2_aligned",
        Load3 "load3",
        Load4 "load4",
        Load4Aligned "load4_aligned",
        Load4AlignedFromAny "load4_aligned_from_any",
        Load4FromAny "load4_from_any",
        Load4Written "load4_written",
        LoadByte "load_byte",
        MultiplyAdd "multiply_add",
        Product "product",
        Store1 "store1",
        Store2 "store2",
        Store2Aligned "store2_aligned",
        Store3 "store3",
        Store4 "store4",
        Store4Aligned "store4_aligned",
        Store4AlignedToAny "store4_aligned_to_any",
    }
}

names! {
    /// A function of `shaders/sysvals.wgsl` whose body is replaced if the sysvals are in memory.
    SysvalsStub {
        TableAddress "table_address",
        UsePushedDraw "use_pushed_draw",
        XfbAddress "xfb_address",
    }
}

names! {
    /// A function of `shaders/stubs.wgsl` for staging: collecting records in shared memory before
    /// they are stored.
    StagingStub {
        EmitsTogether "emits_together",
        ListOutput "list_output",
        ListedOutput "listed_output",
        MostRecords "most_records",
        StageItem "stage_item",
        StageRecord "stage_record",
        Stagers "stagers",
        StagedUnits "staged_units",
        StagedVertices "staged_vertices",
        StoreItems "store_items",
        StoreStaged "store_staged",
    }
}

names! {
    /// A function of `shaders/stubs.wgsl` for shaders that draw what a geometry shader emits.
    DrawnStub {
        DrawnVertices "drawn_vertices",
        DropVertex "drop_vertex",
        EmitsAllDrawn "emits_all_drawn",
        IsDrawn "is_drawn",
        IsDrawnIndexed "is_drawn_indexed",
        KeepVertex "keep_vertex",
    }
}

names! {
    /// Any other function of `shaders/stubs.wgsl`. Some of them are called by captures, some by kernels.
    StubName {
        Arrive "arrive",
        AlwaysEmitted "always_emitted",
        MakesEntries "makes_entries",
        HasSeveral "has_several",
        BeginPatch "begin_patch",
        ControlPhases "control_phases",
        ControlPoints "control_points",
        GeometryInvocations "geometry_invocations",
        InnerLevels "inner_levels",
        InputVertices "input_vertices",
        IsBatched "is_batched",
        IsFused "is_fused",
        IsUnchecked "is_unchecked",
        KernelWidth "kernel_width",
        MostEmitted "most_emitted",
        MayBeGeneral "may_be_general",
        MayBeIndexed "may_be_indexed",
        MayLoadBytes "may_load_bytes",
        MayBePatches "may_be_patches",
        MayLoop "may_loop",
        MayRestart "may_restart",
        MemoryBarrier "memory_barrier",
        OuterLevels "outer_levels",
        OutputVertices "output_vertices",
        PassControlPoint "pass_control_point",
        PassEvaluated "pass_evaluated",
        PassPatch "pass_patch",
        PassVertex "pass_vertex",
        ShareControlPoint "share_control_point",
        SharePatch "share_patch",
        TakeControlPoint "take_control_point",
        TakePatch "take_patch",
        PassedPoints "passed_points",
        PipelineTopology "pipeline_topology",
        RunPrimitive "run_primitive",
        SetControlInputs "set_control_inputs",
        SetEvaluationInputs "set_evaluation_inputs",
        SetGeometryInputs "set_geometry_inputs",
        SetInputs "set_inputs",
        SharesDraws "shares_draws",
        Shade "shade",
        ShadeControl "shade_control",
        ShadeEvaluation "shade_evaluation",
        ShadeGeometry "shade_geometry",
        ShadesExistingOnly "shades_existing_only",
        StoreRecord "store_record",
        TessellatedVertices "tessellated_vertices",
        TessellatorBits "tessellator_bits",
        Uniformly "uniformly",
        WideLoads "wide_loads",
        WideStores "wide_stores",
        WorkgroupSize "workgroup_size",
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use std::collections::BTreeSet;

    use super::super::kernel::Kernel;
    use super::super::library::library;
    use super::*;

    fn is_there(name: &str) -> bool {
        library().unwrap().function_names().any(|function| function == name)
    }

    #[test]
    fn what_is_called_is_there() {
        for function in Function::ALL {
            assert!(is_there(function.name()), "{function:?}");
        }
        for kernel in Kernel::ALL {
            assert!(is_there(kernel.entry_point().to_str().unwrap()), "{kernel:?}");
        }
    }

    #[test]
    fn widths_are_of_the_name() {
        for dwords in 1..=4 {
            assert_eq!(Function::store(dwords, false).name(), format!("store{dwords}"));
            assert_eq!(Function::fetch(dwords).name(), format!("fetch{dwords}"));
        }
        for dwords in [2, 4] {
            assert_eq!(Function::store(dwords, true).name(), format!("store{dwords}_aligned"));
            assert_eq!(Function::fetch_behind4(dwords).name(), format!("fetch{dwords}_behind4"));
        }
    }

    #[test]
    fn all_stubs_are_known() {
        let functions = |source: &'static str| {
            source.lines().filter_map(|line| Some(line.strip_prefix("fn ")?.split_once('(')?.0))
        };
        let known = [
            MemoryStub::ALL.iter().map(|stub| stub.name()).collect::<Vec<_>>(),
            SysvalsStub::ALL.iter().map(|stub| stub.name()).collect(),
            StagingStub::ALL.iter().map(|stub| stub.name()).collect(),
            DrawnStub::ALL.iter().map(|stub| stub.name()).collect(),
            StubName::ALL.iter().map(|stub| stub.name()).collect(),
        ]
        .concat();
        let count = known.len();
        let known: BTreeSet<&str> = known.into_iter().collect();
        assert_eq!(known.len(), count);
        let stubs: BTreeSet<&str> = functions(include_str!("../../stubs.wgsl")).collect();
        assert_eq!(stubs.difference(&known).count(), 0, "without a body: {stubs:?}, {known:?}");
        let sysvals: BTreeSet<&str> = functions(include_str!("../../sysvals.wgsl")).collect();
        let replaced = known.difference(&stubs);
        assert!(replaced.clone().all(|name| sysvals.contains(name)), "{replaced:?}");
        known.into_iter().for_each(|name| assert!(is_there(name), "{name}"));
    }
}
