import type { AnyEndpoint } from '../../http/endpoint.ts';
import { resourceEndpoints } from '../../http/resource-endpoints.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Postgres } from '../../platform/postgres/port.ts';
import { changeBonusTemplate, createBonusTemplate, deleteBonusTemplate } from './change.ts';
import { listBonusTemplates } from './queries.ts';
import { BONUS_TEMPLATE, findBonusTemplate } from './read.ts';
import {
  BONUS_TEMPLATE_FILTERS,
  bonusTemplateResource,
  COMPUTED_FIELDS,
  createBonusTemplateBody,
  FIXED_FIELDS,
  patchBonusTemplateBody,
} from './schema.ts';
import { bonusTemplateResourceOf } from './template-json.ts';

/** Templates of bonuses (spec part 4). */
export function bonusTemplateEndpoints(deps: { postgres: Postgres; clock: Clock }): AnyEndpoint[] {
  return resourceEndpoints(deps, {
    collection: 'bonus-templates',
    kind: BONUS_TEMPLATE,
    audited: 'bonus_template',
    writer: 'editor',
    response: bonusTemplateResource,
    toJson: bonusTemplateResourceOf,
    image: bonusTemplateResourceOf,
    filters: BONUS_TEMPLATE_FILTERS,
    list: listBonusTemplates,
    find: ({ postgres }, ref) => findBonusTemplate(postgres, ref),
    create: {
      summary:
        'Creates a bonus template; its config must match its type, and its terms the rules of the licence',
      body: createBonusTemplateBody,
      read_only: COMPUTED_FIELDS,
      errors: ['BONUS_CONFIG_INVALID', 'LICENCE_RULE_VIOLATED'],
      run: createBonusTemplate,
    },
    change: {
      summary:
        'Changes a bonus template, except its type; new terms are a new version, and live grants keep their terms',
      body: patchBonusTemplateBody,
      read_only: FIXED_FIELDS,
      errors: ['BONUS_CONFIG_INVALID', 'LICENCE_RULE_VIOLATED'],
      run: changeBonusTemplate,
    },
    remove: {
      summary: 'Soft delete: nothing is granted from it any more, and live grants continue',
      run: deleteBonusTemplate,
    },
  });
}
