import { minimise } from '../models/minimise.ts';
import type { ModelStatus } from '../model-queries.ts';
import { countHours, HOURS, MIN_SESSIONS, sessionsOf, type SendTimeParameters } from './hours.ts';

const DAY_MS = 86_400_000;
/** Sessions of so many days are counted. */
export const SESSION_DAYS = 90;
/** The weight is chosen on the sessions of so many days, and the model judged on those of as many after them. */
export const HELD_OUT_DAYS = 14;
/** With fewer players who have hours of their own and a session that is held out, nothing is fitted. */
export const MIN_PLAYERS = 200;
/** Where the weight is looked for: below, the profile counts nothing; above, nothing else does. */
const WEIGHTS = { low: 0.1, high: 10_000 };
const FIRST_WEIGHT = 20;
const SHOWN_DIGITS = 8;

/**
 * The hours of the week in which a player's sessions began: up to 28 days before the end, in the 14 days after that, and in the last
 * 14 days.
 */
export type SessionHours = readonly [
  first: readonly number[],
  next: readonly number[],
  last: readonly number[],
];

/** A session that was held out: the player's own sessions before it, those of them in its hour, and the profile's share of it. */
export interface HeldOutSession {
  sessions: number;
  in_hour: number;
  usual: number;
}

/** How well the hours of held-out sessions were predicted; log losses are means of −ln of their chances: less is better. */
export interface SendTimeProof {
  from: string;
  to: string;
  players: number;
  sessions: number;
  log_loss: number;
  log_loss_profile: number;
}

/** What the nightly fit of a project has found. */
export interface FittedSendTime {
  status: ModelStatus;
  parameters: (SendTimeParameters & { profile: number[] }) | null;
  held_out: SendTimeProof | null;
}

/**
 * Fits the model of send times to players with the hours of their sessions in the 90 days up to `until_ms`. The weight is the one
 * that predicts the sessions of the 14 days before the last 14 best, from what was before them. Then the last 14 days are
 * predicted with it. `on`: better than by the profile alone. `breathe` is called between the steps, and may reject.
 */
export async function fitSendTime(
  players: readonly SessionHours[],
  until_ms: number,
  breathe: () => Promise<void>,
): Promise<FittedSendTime> {
  const chosen_on = heldOut(players.map(([first, next]) => [first, next]));
  await breathe();
  const judged_on = heldOut(players.map(([first, next, last]) => [[...first, ...next], last]));
  if (Math.min(chosen_on.players, judged_on.players) < MIN_PLAYERS)
    return { status: 'waiting', parameters: null, held_out: null };
  await breathe();
  const weight = await fitWeight(chosen_on.sessions, breathe);
  const log_loss = rounded(logLoss(judged_on.sessions, weight));
  const log_loss_profile = rounded(profileLoss(judged_on.sessions));
  const profile = profileOf(players.flatMap((periods) => periods)).map(rounded);
  return {
    status: log_loss < log_loss_profile ? 'on' : 'off',
    parameters: { weight: rounded(weight), profile },
    held_out: {
      from: new Date(until_ms - HELD_OUT_DAYS * DAY_MS).toISOString(),
      to: new Date(until_ms).toISOString(),
      players: judged_on.players,
      sessions: judged_on.sessions.length,
      log_loss,
      log_loss_profile,
    },
  };
}

/** The share of all sessions that begin in each hour. Each hour has one session more than there were, so that none is 0. */
export function profileOf(sessions: readonly (readonly number[])[]): number[] {
  const counts = Array.from({ length: HOURS }, () => 1);
  let all = HOURS;
  for (const hours of sessions) {
    all += hours.length;
    for (const hour of hours) counts[hour] = (counts[hour] ?? 0) + 1;
  }
  return counts.map((count) => count / all);
}

/** The later sessions of those players who had five before, and how many players have such a session. */
function heldOut(players: readonly (readonly [before: readonly number[], later: readonly number[]])[]): {
  sessions: HeldOutSession[];
  players: number;
} {
  const profile = profileOf(players.map(([before]) => before));
  const found = players
    .filter(([before, later]) => before.length >= MIN_SESSIONS && later.length > 0)
    .map(([before, later]) => {
      const counts = countHours(before);
      const sessions = sessionsOf(counts);
      return later.map((hour) => ({
        sessions,
        in_hour: counts.get(hour) ?? 0,
        usual: profile[hour] ?? 0,
      }));
    });
  return { sessions: found.flat(), players: found.length };
}

/** The weight of the profile that gives the least log loss of these sessions, 0.1 … 10,000. */
export async function fitWeight(
  sessions: readonly HeldOutSession[],
  breathe: () => Promise<void> = () => Promise.resolve(),
): Promise<number> {
  const { point } = await minimise(([weight = 0]) => logLoss(sessions, weight), [FIRST_WEIGHT], [WEIGHTS], {
    breathe,
  });
  return point[0] ?? FIRST_WEIGHT;
}

/** The mean of −ln of the chances of these sessions; not a number for none. */
export function logLoss(sessions: readonly HeldOutSession[], weight: number): number {
  let sum = 0;
  for (const { sessions: own, in_hour, usual } of sessions)
    sum -= Math.log((in_hour + weight * usual) / (own + weight));
  return sum / sessions.length;
}

/** As {@link logLoss}, by the profile alone. */
export function profileLoss(sessions: readonly HeldOutSession[]): number {
  return sessions.reduce((sum, { usual }) => sum - Math.log(usual), 0) / sessions.length;
}

function rounded(number: number): number {
  return Number(number.toPrecision(SHOWN_DIGITS));
}
