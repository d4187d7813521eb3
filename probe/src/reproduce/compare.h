#define GUARD 256u  /* bytes behind each bound range, which must not be written */
#define FILLED 0xcd /* the bytes before the draw */

/* Returns the number of the vertex whose record this is: `likely`, or the first one, of the same instance if there is one. */
enum { WRITTEN = 0x7ffffffe, UNWRITTEN }; /* the record is of no vertex */
static uint32_t vertex_of(const Captured *of, const unsigned char *record, uint32_t likely) {
    uint32_t number = likely, filled = 0, n = 0;
    while (n <= of->all && memcmp(record, of->records + number * (of->stride / 4), of->stride))
        number = (likely - likely % of->vertices + n++) % of->all;
    while (filled < of->stride && record[filled] == FILLED) filled++;
    return n <= of->all ? number : filled == of->stride ? UNWRITTEN : WRITTEN;
}

/* Compares a capture buffer and its counter, prints both, and returns the number of differences. */
static int compare(const Captured *of, const unsigned char *bytes, uint32_t counter, int rotated) {
    uint32_t m = of->per_primitive, end = of->expected_count * of->stride, behind = end, differences = 0;
    uint32_t *found = calloc(of->expected_count + 1, sizeof *found);
    NEED(found, "no memory");
    for (uint32_t i = 0; i < of->expected_count; i++) found[i] = vertex_of(of, bytes + i * of->stride, of->expected[i]);
    printf("buffer %u\n", of->binding);
    for (uint32_t first = 0; first < of->expected_count; first += m) {
        int is_right = is_demanded(of, found, first, rotated);
        differences += !is_right;
        if (first >= 192 && is_right) continue; /* far behind, only what differs is printed */
        printf("  primitive %u, instance %u: demanded", first / m, of->expected[first] / of->vertices);
        for (uint32_t i = first; i < first + m; i++) printf(" v%u", of->expected[i] % of->vertices);
        printf(", captured");
        for (uint32_t i = first; i < first + m; i++)
            if (found[i] < WRITTEN) printf(" v%u", found[i] % of->vertices);
            else printf(found[i] == UNWRITTEN ? " -" : " ?");
        printf(is_right ? "\n" : "  <-- differs\n");
    }
    free(found);
    while (behind < of->size + GUARD && bytes[behind] == FILLED) behind++;
    if (behind < of->size + GUARD && ++differences)
        printf("  byte %u was written: the records end at %u, the bound range at %u\n", behind, end, of->size);
    if (counter != end && ++differences) printf("  the counter is %u: it has to be %u\n", counter, end);
    return differences;
}
