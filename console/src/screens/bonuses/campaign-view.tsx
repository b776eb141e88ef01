import { getRouteApi } from '@tanstack/react-router';
import { useCatalogue } from '../../api/currencies.ts';
import { t } from '../../messages/t.ts';
import { Answered } from '../../ui/states.tsx';
import { Editor } from './campaign-editor.tsx';
import { Report } from './campaign-report.tsx';
import { useBonusCampaign, useBonusTemplate } from './queries.ts';

const route = getRouteApi('/bonuses/campaigns/$id');
const m = t.bonuses.campaign;

/** One bonus campaign: before it is issued its fields, then what became of it. */
export function BonusCampaignPage() {
  const { id } = route.useParams();
  const is_new = id === 'new';
  const campaign = useBonusCampaign(id, !is_new);
  const template_id = campaign.data?.data.template_id;
  const template = useBonusTemplate(template_id ?? '', template_id !== undefined).data?.data;
  return (
    <Answered asked={useCatalogue()} what={m.one}>
      {({ data: currencies }) =>
        is_new ? (
          <Editor key="new" currencies={currencies} saved_template={undefined} />
        ) : (
          <Answered asked={campaign} what={m.one}>
            {({ data, etag }) =>
              data.status === 'draft' || data.status === 'scheduled' ? (
                <Editor
                  key={id}
                  campaign={data}
                  etag={etag}
                  currencies={currencies}
                  saved_template={template}
                />
              ) : (
                <Report key={id} campaign={data} template={template} />
              )
            }
          </Answered>
        )
      }
    </Answered>
  );
}
