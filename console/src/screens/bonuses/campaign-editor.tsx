import type { CreateBonusCampaignBody } from '@player-engagement/client/admin';
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { useDraft } from '../../api/draft.ts';
import { useMayEdit, usePlace } from '../../api/place.tsx';
import { useSave, type SaveOf } from '../../api/queries.ts';
import type { Currency } from '../../format/money.ts';
import { differing, textsOf, valuesOf, type FieldSpec, type Texts } from '../../format/record-texts.ts';
import { t } from '../../messages/t.ts';
import { WithAudit } from '../../ui/audit.tsx';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { SaveFailure } from '../../ui/conflict.tsx';
import { Page } from '../../ui/page.tsx';
import { UnsavedGuard } from '../../ui/unsaved.tsx';
import { Issue } from './campaign-acts.tsx';
import { CampaignForm } from './campaign-form.tsx';
import {
  configCurrency,
  needsDeposit,
  useTemplateChoice,
  type BonusCampaign,
  type BonusTemplate,
} from './queries.ts';
import { CampaignStatus } from './status.tsx';

const route = getRouteApi('/bonuses/campaigns/$id');
const m = t.bonuses.campaign;
const FIELDS: readonly FieldSpec[] = [
  ...(
    [
      'name',
      'template_id',
      'segment_id',
      'deposit_from',
      'currency_override',
      'schedule_at',
      'qualifying_product',
      'advertising',
      'pace',
    ] as const
  ).map((path) => ({ path, kind: 'text' as const })),
  { path: 'deposit_amount', kind: 'money' },
  { path: 'max_liability', kind: 'money' },
  { path: 'daily_budget_base', kind: 'money' },
  { path: 'max_grants', kind: 'int' },
  { path: 'holdout_percent', kind: 'decimal' },
  { path: 'rate_per_second', kind: 'int' },
];

interface EditorProps {
  campaign?: BonusCampaign;
  etag?: string | undefined;
  currencies: readonly Currency[];
  /** That of the saved campaign, which may be deleted, or on a later page of the list. */
  saved_template: BonusTemplate | undefined;
}

/** A bonus campaign before it is issued. */
export function Editor({ campaign, etag, currencies, saved_template }: EditorProps) {
  const { tab } = route.useSearch();
  const { role, base_currency } = usePlace();
  const may_edit = useMayEdit();
  const navigate = useNavigate();
  const save = useSave('bonusCampaigns.create', 'bonusCampaigns.update');
  const [issues_it, setIssuesIt] = useState(false);
  const templates = useTemplateChoice();
  const is_new = campaign === undefined;
  const templateOf = (texts: Texts) =>
    [...(templates.rows ?? []), saved_template].find((one) => one?.id === texts['template_id']);
  const currencyOf = (texts: Texts) => {
    const template = templateOf(texts);
    const code = texts['currency_override'] || (template && configCurrency(template));
    return currencies.find((one) => one.code === code);
  };
  const scaleOf = ({ path }: FieldSpec, texts: Texts) =>
    path === 'max_liability' || path === 'daily_budget_base'
      ? currencies.find(({ code }) => code === base_currency)?.scale
      : currencyOf(texts)?.scale;
  const typed = useDraft<Texts>(
    is_new
      ? { advertising: 'direct', holdout_percent: '0', pace: 'even' }
      : textsOf(campaign, FIELDS, scaleOf),
    etag,
  );
  /** Only some bonuses follow from a deposit; with the others its fields are hidden, and empty. */
  const meant = (texts: Texts): Texts => {
    const template = templateOf(texts);
    const is_chosen = (texts['template_id'] ?? '') !== '';
    // One that is chosen and not known yet may need them.
    const has_deposit = template === undefined ? is_chosen : needsDeposit(template.type);
    return has_deposit ? texts : { ...texts, deposit_from: '', deposit_amount: '' };
  };
  const read = (texts: Texts) =>
    valuesOf(meant(texts), FIELDS, { scaleOf, complaints: t.bonuses.complaints });
  const { values, issues } = read(typed.draft);
  const changes = is_new ? values : differing(read(textsOf(campaign, FIELDS, scaleOf)).values, values);
  const submit = async (over = typed.etag) => {
    // The API judges what the form says.
    const request: SaveOf<typeof save> = is_new
      ? { create: [values as CreateBonusCampaignBody] }
      : { update: [campaign.id, changes], if_match: over };
    const answer = await save.mutateAsync(request).catch(() => undefined);
    if (answer === undefined) return;
    typed.reset();
    const { id } = answer.data;
    if (is_new) {
      void navigate({ to: '/bonuses/campaigns/$id', params: { id }, replace: true, ignoreBlocker: true });
    }
  };
  return (
    <Page
      title={is_new ? m.new : campaign.name.slice(0, 200)}
      actions={
        may_edit ? (
          <>
            {is_new ? null : (
              <Button onClick={() => setIssuesIt(true)} disabled={typed.dirty}>
                {m.issue.button}
              </Button>
            )}
            <Button
              kind="primary"
              onClick={() => void submit()}
              disabled={save.isPending || issues.length > 0 || (!is_new && !typed.dirty)}
            >
              {is_new ? m.create : t.form.save}
            </Button>
          </>
        ) : (
          <Badge>{t.form.viewer(role)}</Badge>
        )
      }
    >
      <UnsavedGuard dirty={typed.dirty} />
      {is_new ? null : (
        <p>
          <CampaignStatus status={campaign.status} />{' '}
          {campaign.last_error === null ? null : (
            <Badge tone="bad">{`${m.failed}: ${campaign.last_error}`}</Badge>
          )}
        </p>
      )}
      <SaveFailure
        save={save}
        forget={typed.reset}
        changes={changes}
        onMine={(newer) => void submit(newer)}
      />
      <WithAudit
        label={m.one}
        type="bonus_campaign"
        id={campaign?.id}
        tab={tab}
        link={(tab, props) => (
          <Link
            {...props}
            to="/bonuses/campaigns/$id"
            params={{ id: campaign?.id ?? 'new' }}
            search={(before) => ({ ...before, tab })}
          />
        )}
      >
        <CampaignForm
          form={{
            texts: typed.draft,
            issues: [...issues, ...(save.error?.issues ?? [])],
            change: typed.change,
          }}
          disabled={!may_edit || save.isPending}
          templates={templates}
          template={templateOf(typed.draft)}
          currencies={currencies}
          currency={currencyOf(typed.draft)}
          base={currencies.find(({ code }) => code === base_currency)}
        />
      </WithAudit>
      {issues_it && !is_new ? <Issue campaign={campaign} onClose={() => setIssuesIt(false)} /> : null}
    </Page>
  );
}
