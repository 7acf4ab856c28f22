//! Checks that the processor has the instructions for which the engine was compiled. A missing one would end the process.

/// Returns an error that names what is missing.
///
/// llama.cpp is compiled for x86-64-v3 unless variables of the build state something else. Almost every processor since 2013 has it, and
/// the fast code for quantized models needs it. The rest of the program runs on every x86-64 processor.
#[cfg(target_arch = "x86_64")]
pub(super) fn check() -> Result<(), String> {
    let needed = [
        ("SSE4.2", option_env!("GGML_SSE42"), std::is_x86_feature_detected!("sse4.2")),
        ("AVX", option_env!("GGML_AVX"), std::is_x86_feature_detected!("avx")),
        ("AVX2", option_env!("GGML_AVX2"), std::is_x86_feature_detected!("avx2")),
        ("BMI2", option_env!("GGML_BMI2"), std::is_x86_feature_detected!("bmi2")),
        ("FMA", option_env!("GGML_FMA"), std::is_x86_feature_detected!("fma")),
        ("F16C", option_env!("GGML_F16C"), std::is_x86_feature_detected!("f16c")),
    ];
    let is_missing = |(name, setting, has): &(&'static str, Option<&str>, bool)| {
        (setting != &Some("OFF") && !has).then_some(*name)
    };
    match needed.iter().filter_map(is_missing).collect::<Vec<_>>()[..] {
        [] => Ok(()),
        ref missing => Err(format!(
            "this processor does not have {}; compile the program with GGML_AVX=OFF, GGML_AVX2=OFF, GGML_BMI2=OFF, GGML_FMA=OFF and \
             GGML_F16C=OFF",
            missing.join(", ")
        )),
    }
}

/// Other processors have what the engine was compiled for.
#[cfg(not(target_arch = "x86_64"))]
pub(super) fn check() -> Result<(), String> {
    Ok(())
}
