import { z } from 'zod';
import { nameSchemas } from '../../http/field-schemas.ts';
import { API_KEY_ENVIRONMENTS } from '../../http/auth/api-key.ts';
import { ROLES } from '../../http/auth/roles.ts';
import { PAGE_QUERY } from '../../http/keyset-page.ts';

/** `GET /v1/session`: the user, and what each of their tenants is shown with. */
export const sessionResource = z.object({
  user_id: z.string().describe('The `sub` of the session token'),
  environment: z.enum(API_KEY_ENVIRONMENTS),
  tenants: z.array(
    z.object({
      id: z.uuid(),
      name: z.string(),
      role: z.enum(ROLES),
      base_currency: z.string(),
      time_zone: z
        .string()
        .nullable()
        .describe(
          'The time zone of players without one, from the quiet hours of the tenant; null: not configured',
        ),
      projects: z.array(z.object({ id: z.uuid(), name: z.string() })),
    }),
  ),
});

/** `GET /v1/projects`. */
export const listProjectsQuery = z.strictObject(PAGE_QUERY);

export const projectResource = z.object({
  id: z.uuid(),
  tenant_id: z.uuid(),
  name: z.string(),
  created_at: z.iso.datetime(),
});

nameSchemas({ Session: sessionResource, Project: projectResource });
