//! Emits the push constants of a generated shader as SPIR-V.

use spirv::{Decoration, Op, StorageClass};

use super::emit::Emitter;
use super::pushed::Laid;
use super::types::Type;

/// The variable of a push constant block, and the types in it.
pub struct Pushed {
    pub variable: u32,
    types: Types,
}

/// A type, and the types of its parts: a single one if all parts have the same type.
struct Types {
    id: u32,
    parts: Vec<Types>,
}

impl Pushed {
    /// Returns the type of the part that indices lead to.
    pub fn ty(&self, path: &[u32]) -> u32 {
        let part = |types: &'_ Types, index: &u32| {
            let last = types.parts.len() - 1;
            last.min(*index as usize)
        };
        path.iter().fold(&self.types, |types, index| &types.parts[part(types, index)]).id
    }
}

impl Emitter<'_> {
    pub fn declare_pushed(&mut self) {
        let Some(block) = &self.shader.pushed else { return };
        let types = self.laid(&block.ty);
        self.module.annotate(Op::Decorate, &[types.id, Decoration::Block as u32]);
        self.module.name(types.id, "Pushed");
        let pointer = self.module.pointer(StorageClass::PushConstant, types.id);
        let operands = [StorageClass::PushConstant as u32];
        let variable = self.module.new_value(Op::Variable, pointer, &operands);
        self.module.name(variable, "pushed");
        if self.shader.version >= (1, 4) {
            self.interface.push(variable);
        }
        self.pushed = Some(Pushed { variable, types });
    }

    fn laid(&mut self, laid: &Laid) -> Types {
        match laid {
            Laid::Scalar(scalar) => Types { id: self.ty(&Type::Scalar(*scalar)), parts: vec![] },
            Laid::Vector(scalar, count) => {
                let parts = vec![self.laid(&Laid::Scalar(*scalar))];
                Types { id: self.ty(&Type::Vector(*scalar, *count)), parts }
            }
            Laid::Matrix { scalar, columns, rows, .. } => {
                let parts = vec![self.laid(&Laid::Vector(*scalar, *rows))];
                Types { id: self.ty(&Type::Matrix(*scalar, *columns, *rows)), parts }
            }
            Laid::Array { element, length, stride } => {
                let element = self.laid(element);
                let length = self.length(*length);
                let id = self.module.new_type(Op::TypeArray, &[element.id, length]);
                let operands = [id, Decoration::ArrayStride as u32, *stride];
                self.module.annotate(Op::Decorate, &operands);
                Types { id, parts: vec![element] }
            }
            Laid::Struct(members) => {
                let parts: Vec<Types> = members.iter().map(|(_, m)| self.laid(m)).collect();
                let ids: Vec<u32> = parts.iter().map(|part| part.id).collect();
                let id = self.module.new_type(Op::TypeStruct, &ids);
                for (index, (offset, member)) in (0..).zip(members) {
                    self.decorate_laid(id, index, *offset, member);
                }
                Types { id, parts }
            }
        }
    }

    fn decorate_laid(&mut self, block: u32, index: u32, offset: u32, mut member: &Laid) {
        let mut decorations = vec![vec![Decoration::Offset as u32, offset]];
        while let Laid::Array { element, .. } = member {
            member = element;
        }
        if let Laid::Matrix { stride, is_row_major, .. } = member {
            let order = if *is_row_major { Decoration::RowMajor } else { Decoration::ColMajor };
            decorations.push(vec![order as u32]);
            decorations.push(vec![Decoration::MatrixStride as u32, *stride]);
        }
        for decoration in decorations {
            let operands = [vec![block, index], decoration].concat();
            self.module.annotate(Op::MemberDecorate, &operands);
        }
    }
}
