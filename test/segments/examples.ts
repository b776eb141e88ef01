import { DEPOSIT_CAMPAIGNS } from './deposit-campaigns.ts';
import { EVENT_EXAMPLES } from './event-examples.ts';
import type { Example } from './example-shapes.ts';
import { MESSAGE_EXAMPLES } from './message-examples.ts';
import { PLAY_CAMPAIGNS } from './play-campaigns.ts';
import { TRAIT_EXAMPLES } from './trait-examples.ts';

/** Every type of condition, and every operator and aggregate that compiles differently. */
export const LANGUAGE_EXAMPLES: readonly Example[] = [
  ...TRAIT_EXAMPLES,
  ...EVENT_EXAMPLES,
  ...MESSAGE_EXAMPLES,
];

/** Segments of typical campaigns of gambling operators. */
export const CAMPAIGN_EXAMPLES: readonly Example[] = [...DEPOSIT_CAMPAIGNS, ...PLAY_CAMPAIGNS];
