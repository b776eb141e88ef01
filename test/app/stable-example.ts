/** When a recorded example is: everything of the same quarter of an hour as its recording. */
const BASE_MS = Date.parse('2026-01-15T12:00:00.000Z');
const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
const NEAR_MS = HOUR_MS / 4;

const UUID = /\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g;
const TIME = /\b\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|\+00:00)/g;
const DATE = /\b\d{4}-\d\d-\d\d\b(?!T)/g;
/** Also measured figures of texts: CPU time in metrics, the pause before a stream is opened again. */
const TOKENS: readonly [what: RegExp, instead: string][] = [
  [/\bsvc_pk_([a-z]+)_[a-z\d]{8}_[\w-]{44}/g, `svc_pk_$1_0a1b2c3d_${'4e5f'.repeat(11)}`],
  // The public part alone.
  [/\bsvc_pk_([a-z]+)_[a-z\d]{8}(?!\w)/g, 'svc_pk_$1_0a1b2c3d'],
  [/\beyJ[\w-]+\.[\w-]+\.[\w-]+/g, 'eyJhbGciOiJFUzI1NiJ9.e30.c2lnbmF0dXJl'],
  [/\bwhsec_[\w+/=-]+/g, `whsec_${'MDEy'.repeat(11)}`],
  [/\b[0-9a-f]{64}\b/g, '0a1b2c3d'.repeat(8)],
  [/^(process_\w+) [\d.]+$/gm, '$1 1.5'],
  [/^retry: \d+$/gm, 'retry: 3000'],
  [/http:\/\/(?:127\.0\.0\.1|localhost):\d+/g, 'https://engage.example.com'],
];
/** Fields whose values are different each time, and which mean nothing in an example. */
const OPAQUE = /(^|_)(cursor|token|secret|hash|etag|prefix)$/;
/** Measured numbers. */
const MEASURED = /(_ms|_seconds|_bytes|^bytes|^duration)$/;
const MAX_TEXT = 400;
/** So many values with the same fields are those of a map, of which one is enough. */
const MIN_ALIKE = 10;

/** Makes recorded examples the same each time; `known` names the ids that many examples have. */
export class StableExamples {
  readonly #known: Map<string, string>;
  readonly #begun_ms: number;

  constructor(known: readonly string[], begun_ms: number) {
    this.#known = new Map(known.map((id, i) => [id, idOf(i + 1)]));
    this.#begun_ms = begun_ms;
  }

  /**
   * A JSON value with fixed ids, times and tokens, in which each list and each long map has its first element alone, and each text its
   * beginning. What else was recorded stays as it was.
   */
  of<T>(value: T): T {
    const others = new Map<string, string>();
    const id = (found: string) => {
      const known = this.#known.get(found) ?? others.get(found);
      if (known !== undefined) return known;
      const made = idOf(0xf01 + others.size);
      others.set(found, made);
      return made;
    };
    const text = (found: string) => {
      const plain = TOKENS.reduce((so_far, [what, instead]) => so_far.replaceAll(what, instead), found);
      return plain
        .replaceAll(UUID, id)
        .replaceAll(TIME, (time) => this.#time(time))
        .replaceAll(DATE, (date) => this.#date(date))
        .slice(0, MAX_TEXT);
    };
    const walk = (one: unknown, name = ''): unknown => {
      if (Array.isArray(one)) return one.slice(0, 1).map((each) => walk(each));
      if (typeof one === 'object' && one !== null)
        return Object.fromEntries(fewOf(one).map(([key, each]) => [text(key), walk(each, key)]));
      if (typeof one === 'number' && MEASURED.test(name)) return 12;
      if (typeof one === 'number' && Math.abs(one * 1_000 - this.#begun_ms) < NEAR_MS) return BASE_MS / 1_000;
      if (typeof one !== 'string') return one;
      const stable = text(one);
      return OPAQUE.test(name) && stable === one && /^[\w+/=-]{8,}$/.test(one) ? opaque(one) : stable;
    };
    return walk(value) as T;
  }

  /** Times near the recording are that of the example; others keep their distance, in hours, or their hour of midnight. */
  #time(text: string): string {
    const at_ms = Date.parse(text);
    const distance_ms = at_ms - this.#begun_ms;
    if (Math.abs(distance_ms) < NEAR_MS) return new Date(BASE_MS).toISOString();
    if (at_ms % DAY_MS === 0) return `${this.#date(text.slice(0, 10))}T00:00:00.000Z`;
    return new Date(BASE_MS + Math.round(distance_ms / HOUR_MS) * HOUR_MS).toISOString();
  }

  #date(text: string): string {
    const days = Math.round((Date.parse(text) - Math.floor(this.#begun_ms / DAY_MS) * DAY_MS) / DAY_MS);
    // A day of a law or a rule, which is the same each time.
    if (Number.isNaN(days) || Math.abs(days) > 400) return text;
    return new Date(Math.floor(BASE_MS / DAY_MS) * DAY_MS + days * DAY_MS).toISOString().slice(0, 10);
  }
}

function fewOf(record: object): [string, unknown][] {
  const entries = Object.entries(record) as [string, unknown][];
  const [first = '', ...others] = entries.map(([, value]) =>
    typeof value === 'object' && value !== null ? Object.keys(value).join() : '',
  );
  const are_alike = first !== '' && others.every((fields) => fields === first);
  return are_alike && entries.length >= MIN_ALIKE ? entries.slice(0, 1) : entries;
}

function idOf(n: number): string {
  return `018f0000-0000-7000-8000-${n.toString(16).padStart(12, '0')}`;
}

/** A text of the same length. */
function opaque({ length }: string): string {
  return 'a1B2'.repeat(Math.ceil(length / 4)).slice(0, length);
}
