//! The compiled form of a template, in which everything that makes texts and lists is counted.
//!
//! minijinja has no limit for the memory of a template, and no place where its operators can be replaced. Its compiled form can be read and
//! written, so the instructions of operators become calls of filters, and texts of the template are written like those of
//! expressions. The form is not stable, so the version of minijinja is fixed in the manifest.

use std::collections::BTreeMap;

use minijinja::Error;
use minijinja::machinery::{CodeGenerator, Instruction, Instructions, Token, parse, tokenize};
use minijinja::syntax::SyntaxConfig;
use minijinja::value::Value;

use super::budget::too_large;
use super::operators::{ADD, ADMIT, CONCATENATE, MULTIPLY, STORE, WEIGH};
use crate::limits::MAX_TAG_TOKENS;

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
        check_tags(source, &syntax)?;
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

/// How many instructions are added to one that compares.
const OF_COMPARISON: u32 = 4;

/// Returns how many instructions are added to one.
fn added(instruction: &Instruction<'_>) -> u32 {
    match instruction {
        Instruction::EmitRaw(_)
        | Instruction::Slice
        | Instruction::BuildList(_)
        | Instruction::BuildTuple(_)
        | Instruction::BuildMap(_) => 1,
        Instruction::SetAttr(_) => 3,
        Instruction::Eq
        | Instruction::Ne
        | Instruction::Gt
        | Instruction::Gte
        | Instruction::Lt
        | Instruction::Lte
        | Instruction::In
        | Instruction::CompareAndPreserve(_)
        | Instruction::PerformTest(_, Some(2), _) => OF_COMPARISON,
        _ => 0,
    }
}

/// The most bytes that the constants of one tag may have when the compiler has calculated with them.
const MAX_CONSTANT: f64 = 16_777_216.0;

/// Fails if a tag is so long that the compiler, which is recursive, would need much of the stack, or if it could repeat a constant text so often
/// that it takes much memory: the compiler calculates with constants before anything is counted.
fn check_tags(source: &str, syntax: &SyntaxConfig) -> Result<(), Error> {
    let (mut count, mut numbers, mut texts) = (0_usize, 1.0_f64, 0.0_f64);
    let (mut products, mut has_power) = (0_i32, false);
    for token in tokenize(source, false, syntax.clone()) {
        count += 1;
        match token?.0 {
            Token::TemplateData(_) | Token::VariableStart | Token::BlockStart => {
                (count, numbers, texts, products, has_power) = (0, 1.0, 0.0, 0, false);
            }
            Token::Int(number) => numbers += number as f64,
            Token::Int128(number) => numbers += *number as f64,
            Token::Float(number) => numbers += number.abs(),
            Token::Str(text) => texts += 32.0 + text.len() as f64,
            Token::String(text) => texts += 32.0 + text.len() as f64,
            Token::BracketOpen | Token::BraceOpen | Token::Comma => texts += 32.0,
            Token::Mul => products += 1,
            Token::Pow => has_power = true,
            _ => {}
        }
        // No calculation with these numbers has a larger result.
        let most = numbers.powi(products + 1) * texts;
        let is_large = products > 0 && texts > 0.0 && (has_power || most > MAX_CONSTANT);
        if count > MAX_TAG_TOKENS || is_large {
            return Err(too_large());
        }
    }
    Ok(())
}

/// Returns the instructions with those that count.
fn counted<'s>(old: &Instructions<'s>) -> Instructions<'s> {
    let all = || (0..).map_while(|index| old.get(index));
    // Where each instruction will be.
    let mut places = Vec::new();
    let mut next = 0;
    for instruction in all() {
        places.push(next);
        next += 1 + added(instruction);
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
            Instruction::SetAttr(name) => {
                // The namespace is above the value.
                add(Instruction::Swap);
                add(filter(STORE, 1));
                add(Instruction::Swap);
                add(Instruction::SetAttr(name));
            }
            made @ (Instruction::BuildList(_)
            | Instruction::BuildTuple(_)
            | Instruction::BuildMap(_)) => {
                add(made);
                add(filter(WEIGH, 1));
            }
            compared if added(&compared) == OF_COMPARISON => {
                add(filter(WEIGH, 1));
                add(Instruction::Swap);
                add(filter(WEIGH, 1));
                add(Instruction::Swap);
                add(compared);
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
