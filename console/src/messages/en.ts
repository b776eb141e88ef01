import { campaigns } from './en/campaigns.ts';
import { codes } from './en/codes.ts';
import { events } from './en/events.ts';
import { forms } from './en/forms.ts';
import { journeys } from './en/journeys.ts';
import { overview } from './en/overview.ts';
import { players } from './en/players.ts';
import { segments } from './en/segments.ts';
import { shell } from './en/shell.ts';
import { templates } from './en/templates.ts';

/** Every text of the console in English: strings, and functions for texts with values. */
export const en = {
  ...shell,
  ...forms,
  codes,
  overview,
  events,
  players,
  segments,
  campaigns,
  journeys,
  templates,
};

export type Messages = typeof en;
