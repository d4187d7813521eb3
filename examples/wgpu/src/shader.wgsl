// All shaders of the example.

struct Wave { height: f32, waves: f32, phase: f32 }
@group(0) @binding(0) var<uniform> wave: Wave;

struct Bent {
    @builtin(position) clip: vec4f,
    @location(0) colour: vec4f,
}

// What is captured.
@vertex fn bend(@location(0) place: vec2f) -> Bent {
    let swing = sin(wave.waves * place.x + wave.phase);
    let clip = vec4f(place.x, 0.5 * place.y + wave.height * swing, 0.5, 1.0);
    return Bent(clip, vec4f(0.5 + 0.5 * place, 0.5 + 0.5 * swing, 1.0));
}

// What was captured is drawn as it is.
@vertex fn show(@location(0) clip: vec4f, @location(1) colour: vec4f) -> Bent {
    return Bent(clip, colour);
}

@fragment fn paint(@location(0) colour: vec4f) -> @location(0) vec4f {
    return colour;
}
