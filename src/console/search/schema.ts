import { z } from 'zod';
import { PLAYER_STATUSES } from '../../players/profile/schema.ts';
import { nameSchemas, trimmedText } from '../../http/field-schemas.ts';

/** The types of records that are found by name, in the order of the answer. */
export const FOUND_RECORD_TYPES = [
  'segment',
  'campaign',
  'journey',
  'template',
  'bonus_template',
  'bonus_campaign',
] as const;
export type FoundRecordType = (typeof FOUND_RECORD_TYPES)[number];

/** `GET /v1/search`. */
export const searchQuery = z.strictObject({
  q: trimmedText(1, 200).describe('Words that the name has, in any order and letter case; or an id'),
});

/** A record of the project that was found. */
export const foundRecord = z.object({
  type: z.enum(FOUND_RECORD_TYPES),
  id: z.uuid(),
  name: z.string(),
  status: z.string().nullable().describe('Null: records of the type have no status'),
});

/** Players whose names one answer has. */
const MAX_NAMES = 100;

/** `GET /v1/players/names`. */
export const playerNamesQuery = z.strictObject({
  ids: z
    .string()
    .max(MAX_NAMES * 37)
    .transform((text) => [...new Set(text.split(',').map((id) => id.trim().toLowerCase()))])
    .pipe(z.array(z.guid()).max(MAX_NAMES))
    .describe(`Ids of players, at most ${MAX_NAMES}, separated by commas`),
});

/** What a player is called by in a list. */
export const playerName = z.object({
  player_id: z.uuid().describe('The id that was asked for'),
  merged_into: z.uuid().nullable().describe('The player that it was merged into'),
  external_id: z.string().nullable(),
  masked_email: z.string().nullable().describe('The first character and the domain'),
  status: z.enum(PLAYER_STATUSES),
});

nameSchemas({ FoundRecord: foundRecord, PlayerName: playerName });
