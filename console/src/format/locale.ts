/** The locale of numbers and amounts: the reader's first language. Undefined outside of a browser: the engine's own. */
export const LOCALE = (globalThis as { navigator?: { language: string } }).navigator?.language;
