import { bucketOf } from '../platform/bucket.ts';

// When a call of a platform that had no usable answer is made again (bonuses part 9): grants, cancellations, KYC.

const [SECOND_MS, MINUTE_MS, HOUR_MS] = [1_000, 60_000, 3_600_000];

/** The pauses after the first calls that had no usable answer; then one every hour. */
const PAUSES_MS: readonly number[] = [
  SECOND_MS,
  5 * SECOND_MS,
  30 * SECOND_MS,
  2 * MINUTE_MS,
  10 * MINUTE_MS,
  HOUR_MS,
];
/** By how many percent of itself a pause may be longer or shorter. */
const JITTER_PERCENT = 20;
/** The longest pause that a platform may ask for. */
const MAX_RETRY_AFTER_MS = HOUR_MS;

/** By how much a pause is shorter when the platform takes other calls again. */
const HURRIED_PART = 10;

const STEPS = 1_001;

/**
 * The pause after a call, in milliseconds. `calls` counts from 1. The jitter follows from `key`, which names what
 * the calls are about, so that calls which failed together do not come back together.
 */
export function pauseMs(key: string, calls: number, retry_after_ms = 0): number {
  return atLeast(usualMs(key, calls), retry_after_ms);
}

/**
 * The pause after a call when the platform takes others again meanwhile, in milliseconds: a tenth, so that what it refuses
 * each time is still called ever more rarely, or what the platform has asked for.
 */
export function hurriedPauseMs(key: string, calls: number, retry_after_ms = 0): number {
  return atLeast(usualMs(key, calls) / HURRIED_PART, retry_after_ms);
}

function usualMs(key: string, calls: number): number {
  const usual_ms = PAUSES_MS[Math.min(calls, PAUSES_MS.length) - 1] ?? HOUR_MS;
  const jitter = bucketOf(`${key}:${calls}`, STEPS) / (STEPS - 1);
  return (usual_ms * (100 + JITTER_PERCENT * (2 * jitter - 1))) / 100;
}

function atLeast(pause_ms: number, retry_after_ms: number): number {
  return Math.round(Math.max(pause_ms, Math.min(retry_after_ms, MAX_RETRY_AFTER_MS)));
}
