/* Whether a primitive has its vertices in order, where a triangle may begin with any of them if `rotated`. */
static int is_demanded(const Captured *of, const uint32_t *found, uint32_t first, int rotated) {
    uint32_t m = of->per_primitive, same = 0;
    for (uint32_t by = 0; same < m && by < (rotated && m == 3 ? 3 : 1); by++)
        for (same = 0; same < m && found[first + same] == of->expected[first + (by + same) % m];) same++;
    return same == m;
}
