import { plainArray } from '../../../src/platform/postgres/arrays.ts';
import type { Platform } from '../../../src/platform/platform.ts';
import { countHours, hourOfWeek, HOURS, packHours } from '../../../src/players/scores/send-time/hours.ts';
import { storeSendTimeModel } from '../../../src/players/scores/send-time/model-queries.ts';
import type { ProjectRef } from '../../../src/tenants/project-ref.ts';

export const HOUR_MS = 3_600_000;
export const PROFILE = Array.from({ length: HOURS }, () => 1 / HOURS);

/** Stores a model of send times whose profile says nothing. */
export async function storeModel(
  { postgres }: Pick<Platform, 'postgres'>,
  project: ProjectRef,
  status: 'on' | 'off' | 'waiting' = 'on',
): Promise<void> {
  const at = new Date();
  const parameters = status === 'waiting' ? null : { weight: 10, profile: PROFILE };
  const fit = { players: 1_000, timed_players: 900, sampled: 1_000, parameters, held_out: null };
  await storeSendTimeModel(postgres.service, project, { status, as_of: at, fitted_at: at, fit });
}

/** Gives players so many sessions in the hour of the week, in UTC, in which a moment lies. */
export async function giveHours(
  { postgres }: Pick<Platform, 'postgres'>,
  player_ids: readonly string[],
  at_ms: number,
  sessions = 6,
): Promise<void> {
  const hour = hourOfWeek(at_ms);
  const packed = packHours(countHours(Array.from({ length: sessions }, () => hour)));
  await postgres.service`
    update players set session_hours = ${packed} where player_id = any(${plainArray(player_ids)}::text::uuid[])`;
}

/** The beginning of the hour in which a moment lies. */
export const hourOf = (at_ms: number) => Math.floor(at_ms / HOUR_MS) * HOUR_MS;
