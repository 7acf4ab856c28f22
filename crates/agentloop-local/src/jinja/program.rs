//! The compiled form of a template, in which everything that makes texts and lists is counted.
//!
//! minijinja has no limit for the memory of a template, and no place where its operators can be replaced. Its compiled form can be read and
//! written, so the instructions of operators become calls of filters, and texts of the template are written like those of
//! expressions. The form is not stable, so the version of minijinja is fixed in the manifest.

use std::collections::BTreeMap;

use minijinja::Error;
use minijinja::machinery::{CodeGenerator, Instruction, Instructions, parse};
use minijinja::syntax::SyntaxConfig;
use minijinja::value::Value;

use super::operators::{ADD, ADMIT, CONCATENATE, MULTIPLY};

/// The instructions of a template, and of its blocks.
pub(super) struct Program<'s> {
    pub(super) instructions: Instructions<'s>,
    pub(super) blocks: BTreeMap<&'s str, Instructions<'s>>,
}

impl<'s> Program<'s> {
    /// Compiles a template.
    pub(super) fn compile(
        name: &'s str,
        source: &'s str,
        syntax: SyntaxConfig,
    ) -> Result<Self, Error> {
        let parsed = parse(source, name, syntax)?;
        let mut generator = CodeGenerator::new(name, source);
        generator.compile_stmt(&parsed);
        let (instructions, blocks) = generator.finish();
        let blocks = blocks.iter().map(|(name, block)| (*name, counted(block))).collect();
        Ok(Self { instructions: counted(&instructions), blocks })
    }
}

/// Marks a filter that is looked up by its name.
const BY_NAME: u8 = u8::MAX;

/// Returns the instructions with those that count.
fn counted<'s>(old: &Instructions<'s>) -> Instructions<'s> {
    let all = || (0..).map_while(|index| old.get(index));
    // Where each instruction will be.
    let mut places = Vec::new();
    let mut next = 0;
    for instruction in all() {
        places.push(next);
        next += match instruction {
            Instruction::EmitRaw(_) | Instruction::Slice => 2,
            _ => 1,
        };
    }
    places.push(next);
    let place = |target: u32| {
        let found = usize::try_from(target).ok().and_then(|target| places.get(target));
        found.copied().unwrap_or(next)
    };
    let filter = |name: &'static str, count| Instruction::ApplyFilter(name, Some(count), BY_NAME);
    let mut new = Instructions::new(old.name(), old.source());
    for (index, instruction) in (0..).zip(all()) {
        let line =
            old.get_line(index).and_then(|line| u16::try_from(line).ok()).unwrap_or_default();
        let mut add = |instruction| {
            new.add_with_line(instruction, line);
        };
        match instruction.clone() {
            Instruction::EmitRaw(text) => {
                add(Instruction::LoadConst(Value::from(text)));
                add(Instruction::Emit);
            }
            Instruction::Slice => {
                add(Instruction::Slice);
                add(filter(ADMIT, 1));
            }
            Instruction::Add => add(filter(ADD, 2)),
            Instruction::Mul => add(filter(MULTIPLY, 2)),
            Instruction::StringConcat => add(filter(CONCATENATE, 2)),
            Instruction::Iterate(target) => add(Instruction::Iterate(place(target))),
            Instruction::Jump(target) => add(Instruction::Jump(place(target))),
            Instruction::JumpIfFalse(target) => add(Instruction::JumpIfFalse(place(target))),
            Instruction::JumpIfFalseOrPop(target) => {
                add(Instruction::JumpIfFalseOrPop(place(target)));
            }
            Instruction::JumpIfTrueOrPop(target) => {
                add(Instruction::JumpIfTrueOrPop(place(target)));
            }
            Instruction::BuildMacro(name, target, flags) => {
                add(Instruction::BuildMacro(name, place(target), flags));
            }
            other => add(other),
        }
    }
    new
}
