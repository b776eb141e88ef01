import { endpoint, type AnyEndpoint } from '../../http/endpoint.ts';
import { envelope } from '../../http/envelope.ts';
import type { Platform } from '../../platform/platform.ts';
import { calendarOf } from './read.ts';
import { calendar, calendarQuery } from './schema.ts';

/** When what is sent. */
export function calendarEndpoints({ postgres, clock }: Pick<Platform, 'postgres' | 'clock'>): AnyEndpoint[] {
  return [
    endpoint({
      method: 'GET',
      path: '/v1/calendar',
      summary: 'Sent and planned campaigns, and the planned starts of journeys',
      access: { mode: 'session', role: 'viewer', scope: 'project' },
      query: calendarQuery,
      response: calendar,
      handle: async ({ caller, query }) => {
        const span = { from: new Date(query.from), to: new Date(query.to) };
        return envelope(await calendarOf(postgres, caller, span, new Date(clock.now_ms())));
      },
    }),
  ];
}
