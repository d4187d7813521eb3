// What the pages of tests/programs share. A case becomes a line of the element "cases", which pages.sh reads, and so does a
// picture; the last line is "end".
"use strict";
const cases = document.body.appendChild(document.createElement("pre"));
cases.id = "cases";

// `wrong` is what is wrong with the case, or nothing.
const said = (name, wrong, detail = "") =>
    cases.append(`${name}\t${wrong ? "fail" : "pass"}\t${wrong || detail}\n`);

// A picture of what a canvas has, in the task that drew it.
const picture = (name, canvas) => cases.append(`picture\t${name}\t${canvas.toDataURL().split(",")[1]}\n`);

const end = () => cases.append("end\n");

// Runs a page, which is a function that gives a promise.
const page = (run) =>
    run().catch((thrown) => said("the page runs", `${thrown}`.split("\n")[0])).then(end);

// What is wrong with numbers, where each differs by no more than `by` from what it should be.
const differ = (what, got, expected, by = 0) => {
    if (got.length !== expected.length) return `${what}: ${got.length} numbers, not ${expected.length}`;
    for (let i = 0; i < got.length; i++)
        if (!(Math.abs(got[i] - expected[i]) <= by)) return `${what}: number ${i} is ${got[i]}, not ${expected[i]}`;
};

// Numbers from 0 to 1, the same each time, also for libraries that ask for random ones.
let seed = 1;
const random = () => {
    seed = (Math.imul(seed, 1103515245) + 12345) & 0x7fffffff;
    return seed / 0x80000000;
};
Math.random = random;

// What the renderer is.
const rendererIs = (gl) => {
    const info = gl.getExtension("WEBGL_debug_renderer_info");
    said("the renderer", "", gl.getParameter(info ? info.UNMASKED_RENDERER_WEBGL : gl.RENDERER));
};
