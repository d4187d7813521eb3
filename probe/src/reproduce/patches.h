/* Counts the primitives of a patch, of which the vertices are from `list` to `end`, with an edge from `a` to `b`. */
static uint32_t count(const uint32_t *list, const uint32_t *end, uint32_t m, uint32_t a, uint32_t b) {
    uint32_t found = 0;
    for (; list < end; list += m)
        for (uint32_t i = 0; i < (m == 3 ? 3 : 1); i++) found += list[i] == a && list[(i + 1) % m] == b;
    return found;
}

/* Whether a primitive is one that its patch may have. The order within a patch, the vertex with which a triangle begins, and
 * the diagonals are the device's choice. So points and lines have to be there once, as in the model, and triangles have to cover
 * the patch: two go along each edge inside of it, in opposite directions, and one along each edge of its sides. */
static int is_demanded(const Captured *of, const uint32_t *found, uint32_t first, int rotated) {
    uint32_t m = of->per_primitive, begin = 0, end = patches[0] * m, right = 0, edges = m == 3 ? 3 : 1;
    for (uint32_t patch = 1; end <= first; patch++) begin = end, end += patches[patch % COUNT(patches)] * m;
    const uint32_t *model = of->expected + begin, *model_end = of->expected + end;
    for (uint32_t i = 0; i < edges; i++) {
        uint32_t a = found[first + i], b = found[first + (i + 1) % m];
        int is_model = count(model, model_end, m, a, b) == 1, is_side = is_model && !count(model, model_end, m, b, a);
        int is_paired = count(found + begin, found + end, m, b, a) == !is_side;
        right += count(found + begin, found + end, m, a, b) == 1 && (m == 3 ? is_paired : is_model);
    }
    (void)rotated;
    return right == edges;
}
