//! A SPIR-V module that is built word by word.

use std::collections::{BTreeSet, HashMap};

use spirv::{Capability, Op, StorageClass};

#[derive(Debug, Default)]
pub struct Module {
    capabilities: BTreeSet<u32>,
    pub extensions: Vec<&'static str>,
    pub glsl: u32,
    names: Vec<u32>,
    annotations: Vec<u32>,
    declarations: Vec<u32>,
    pub functions: Vec<u32>,
    /// The types and constants so far, by their words without the result id.
    known: HashMap<Vec<u32>, u32>,
    last: u32,
}

pub fn instruction(op: Op, operands: &[u32]) -> Vec<u32> {
    let mut words = vec![(operands.len() as u32 + 1) << 16 | op as u32];
    words.extend_from_slice(operands);
    words
}

pub fn string(text: &str) -> Vec<u32> {
    let mut bytes = text.as_bytes().to_vec();
    bytes.push(0);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes.chunks_exact(4).map(|c| u32::from_le_bytes([c[0], c[1], c[2], c[3]])).collect()
}

impl Module {
    pub fn id(&mut self) -> u32 {
        self.last += 1;
        self.last
    }

    pub fn capability(&mut self, capability: Capability) {
        self.capabilities.insert(capability as u32);
    }

    pub fn name(&mut self, id: u32, name: &str) {
        let operands = [vec![id], string(name)].concat();
        self.names.extend(instruction(Op::Name, &operands));
    }

    pub fn member_name(&mut self, id: u32, member: u32, name: &str) {
        let operands = [vec![id, member], string(name)].concat();
        self.names.extend(instruction(Op::MemberName, &operands));
    }

    pub fn annotate(&mut self, op: Op, operands: &[u32]) {
        self.annotations.extend(instruction(op, operands));
    }

    /// Adds a type, or returns the same type if it exists.
    pub fn ty(&mut self, op: Op, operands: &[u32]) -> u32 {
        let key = instruction(op, operands);
        if let Some(id) = self.known.get(&key) {
            return *id;
        }
        let id = self.new_type(op, operands);
        self.known.insert(key, id);
        id
    }

    pub fn new_type(&mut self, op: Op, operands: &[u32]) -> u32 {
        let id = self.id();
        self.declarations.extend(instruction(op, &[&[id], operands].concat()));
        id
    }

    /// Adds a constant, or returns the same constant if it exists.
    pub fn constant(&mut self, op: Op, ty: u32, operands: &[u32]) -> u32 {
        let key = instruction(op, &[&[ty], operands].concat());
        if let Some(id) = self.known.get(&key) {
            return *id;
        }
        let id = self.new_value(op, ty, operands);
        self.known.insert(key, id);
        id
    }

    /// Adds a variable or specialisation constant.
    pub fn new_value(&mut self, op: Op, ty: u32, operands: &[u32]) -> u32 {
        let id = self.id();
        self.declarations.extend(instruction(op, &[&[ty, id], operands].concat()));
        id
    }

    pub fn uint(&mut self) -> u32 {
        self.ty(Op::TypeInt, &[32, 0])
    }

    pub fn word(&mut self, value: u32) -> u32 {
        let uint = self.uint();
        self.constant(Op::Constant, uint, &[value])
    }

    pub fn pointer(&mut self, storage: StorageClass, pointee: u32) -> u32 {
        self.ty(Op::TypePointer, &[storage as u32, pointee])
    }

    /// Returns all words, for the entry point with the id `main` and this interface.
    pub fn words(&self, version: (u32, u32), main: u32, interface: &[u32]) -> Vec<u32> {
        use spirv::{AddressingModel, ExecutionMode, ExecutionModel, MemoryModel};
        let mut words =
            vec![spirv::MAGIC_NUMBER, version.0 << 16 | version.1 << 8, 0, self.last + 1, 0];
        for capability in &self.capabilities {
            words.extend(instruction(Op::Capability, &[*capability]));
        }
        for extension in &self.extensions {
            words.extend(instruction(Op::Extension, &string(extension)));
        }
        let import = [vec![self.glsl], string("GLSL.std.450")].concat();
        words.extend(instruction(Op::ExtInstImport, &import));
        let model = [AddressingModel::Logical as u32, MemoryModel::GLSL450 as u32];
        words.extend(instruction(Op::MemoryModel, &model));
        let mut entry = vec![ExecutionModel::Vertex as u32, main];
        entry.extend(string("main"));
        entry.extend(interface);
        words.extend(instruction(Op::EntryPoint, &entry));
        words.extend(instruction(Op::ExecutionMode, &[main, ExecutionMode::Xfb as u32]));
        words.extend(&self.names);
        words.extend(&self.annotations);
        words.extend(&self.declarations);
        words.extend(&self.functions);
        words
    }
}
