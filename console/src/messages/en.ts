import { events } from './en/events.ts';
import { overview } from './en/overview.ts';
import { players } from './en/players.ts';
import { segments } from './en/segments.ts';
import { shell } from './en/shell.ts';

/** Every text of the console in English: strings, and functions for texts with values. */
export const en = { ...shell, overview, events, players, segments };

export type Messages = typeof en;
