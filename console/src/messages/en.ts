import { alerts } from './en/alerts.ts';
import { backtest } from './en/backtest.ts';
import { bonuses } from './en/bonuses.ts';
import { campaigns } from './en/campaigns.ts';
import { codes, stepCodes } from './en/codes.ts';
import { compliance } from './en/compliance.ts';
import { developers } from './en/developers.ts';
import { events } from './en/events.ts';
import { examples } from './en/examples.ts';
import { forms } from './en/forms.ts';
import { effect } from './en/effect.ts';
import { insights } from './en/insights.ts';
import { reports } from './en/reports.ts';
import { journeys } from './en/journeys.ts';
import { models } from './en/models.ts';
import { names } from './en/names.ts';
import { overview } from './en/overview.ts';
import { players } from './en/players.ts';
import { segments } from './en/segments.ts';
import { settings } from './en/settings.ts';
import { shell } from './en/shell.ts';
import { system } from './en/system.ts';
import { templates } from './en/templates.ts';
import { vip } from './en/vip.ts';

/** Every text of the console in English: strings, and functions for texts with values. */
export const en = {
  ...shell,
  ...forms,
  examples,
  codes,
  stepCodes,
  names,
  overview,
  events,
  players,
  segments,
  backtest,
  campaigns,
  effect,
  insights,
  alerts,
  reports,
  models,
  journeys,
  templates,
  bonuses,
  vip,
  compliance,
  developers,
  settings,
  system,
};

export type Messages = typeof en;
