import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { useDraft } from '../../api/draft.ts';
import { useMayEdit, usePlace } from '../../api/place.tsx';
import { useSave, type SaveOf } from '../../api/queries.ts';
import { t } from '../../messages/t.ts';
import { AuditTab } from '../../ui/audit.tsx';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { SaveFailure } from '../../ui/conflict.tsx';
import { Buttons } from '../../ui/form.tsx';
import { Page } from '../../ui/page.tsx';
import { Tabs } from '../../ui/tabs.tsx';
import { UnsavedGuard } from '../../ui/unsaved.tsx';
import css from './campaigns.module.css';
import { draftOf, NEW } from './draft.ts';
import { Duplicate } from './duplicate.tsx';
import { Previews } from './previews.tsx';
import { useVariants, type CampaignRecord } from './queries.ts';
import { missingOf, Review } from './review.tsx';
import { Cancel, Remove, Send } from './send.tsx';
import { Status } from './status.tsx';
import { AudienceStep, ContentStep, TimeStep } from './steps.tsx';
import { Variants } from './variants.tsx';

const route = getRouteApi('/campaigns/$id');
const m = t.campaigns;
const STEPS = ['audience', 'content', 'time', 'review'] as const;
type Step = (typeof STEPS)[number];
type Open = 'send' | 'cancel' | 'remove';

/** A campaign before it is sent, in four steps. A new one is saved after the first. */
export function Editor({ campaign, etag }: { campaign?: CampaignRecord; etag?: string | undefined }) {
  const { step: asked } = route.useSearch();
  const { role } = usePlace();
  const may_edit = useMayEdit();
  const navigate = useNavigate();
  const save = useSave('campaigns.create', 'campaigns.update');
  const [open, setOpen] = useState<Open>();
  const { draft, changes, dirty, ...typed } = useDraft(
    campaign === undefined ? NEW : draftOf(campaign),
    etag,
  );
  const step = campaign === undefined ? 'audience' : (STEPS.find((one) => one === asked) ?? 'audience');
  const next = STEPS[STEPS.indexOf(step) + 1];
  const shown = campaign !== undefined && asked === 'audit' ? 'audit' : step;
  const show = (id: string, to: Step) =>
    void navigate({
      to: '/campaigns/$id',
      params: { id },
      search: (before) => ({ ...before, step: to }),
      ignoreBlocker: true,
    });
  const submit = async (over = typed.etag) => {
    const request: SaveOf<typeof save> =
      campaign === undefined ? { create: [draft] } : { update: [campaign.id, changes], if_match: over };
    const answer =
      dirty || campaign === undefined ? await save.mutateAsync(request).catch(() => undefined) : undefined;
    if (answer === undefined && (dirty || campaign === undefined)) return;
    typed.reset();
    const id = answer?.data.id ?? campaign?.id;
    if (id !== undefined && next !== undefined) show(id, next);
  };
  const fields = {
    draft,
    disabled: !may_edit || save.isPending,
    error: save.error,
    onChange: typed.change,
  };
  return (
    <Page
      title={campaign === undefined ? m.new : campaign.name}
      actions={
        may_edit ? (
          campaign === undefined ? null : (
            <Actions campaign={campaign} onOpen={setOpen} />
          )
        ) : (
          <Badge>{t.form.viewer(role)}</Badge>
        )
      }
    >
      <UnsavedGuard dirty={dirty} />
      {campaign === undefined ? null : (
        <p>
          <Status status={campaign.status} />{' '}
          {campaign.last_error === null ? null : (
            <Badge tone="bad">{`${m.failed}: ${campaign.last_error}`}</Badge>
          )}
        </p>
      )}
      <Tabs
        label={m.one}
        current={shown}
        tabs={(campaign === undefined ? (['audience'] as const) : ([...STEPS, 'audit'] as const)).map(
          (key) => ({ key, title: m.steps[key] }),
        )}
        link={(key, props) => (
          <Link
            {...props}
            to="/campaigns/$id"
            params={{ id: campaign?.id ?? 'new' }}
            search={(before) => ({ ...before, step: key })}
          />
        )}
      >
        <SaveFailure
          save={save}
          forget={typed.reset}
          changes={changes}
          onMine={(newer) => void submit(newer)}
        />
        {shown === 'audience' ? <AudienceStep {...fields} /> : null}
        {shown === 'content' && campaign !== undefined ? (
          <div className={css['beside']}>
            <div className={css['section']}>
              <ContentStep {...fields} />
              <Variants campaign={campaign} disabled={!may_edit} />
            </div>
            <Previews campaign={campaign} template_id={draft.template_id} />
          </div>
        ) : null}
        {shown === 'time' ? <TimeStep {...fields} /> : null}
        {shown === 'review' && campaign !== undefined ? (
          <ReviewStep campaign={campaign} dirty={dirty} may_edit={may_edit} onSend={() => setOpen('send')} />
        ) : null}
        {shown === 'audit' && campaign !== undefined ? <AuditTab type="campaign" id={campaign.id} /> : null}
        {may_edit && shown !== 'audit' && next !== undefined ? (
          <Buttons>
            <Button
              kind="primary"
              onClick={() => void submit()}
              disabled={save.isPending || draft.name.trim() === ''}
            >
              {campaign === undefined ? m.create : m.saveAndNext}
            </Button>
            {campaign === undefined ? <span className={css['soft']}>{m.variantsAfterSave}</span> : null}
          </Buttons>
        ) : null}
      </Tabs>
      {campaign === undefined ? null : (
        <Dialogs
          open={open}
          campaign={campaign}
          onClose={() => setOpen(undefined)}
          onDeleted={() => void navigate({ to: '/campaigns', ignoreBlocker: true })}
        />
      )}
    </Page>
  );
}

function Actions({ campaign, onOpen }: { campaign: CampaignRecord; onOpen: (open: Open) => void }) {
  return (
    <>
      <Duplicate campaign={campaign} />
      <Button kind="danger" onClick={() => onOpen('cancel')}>
        {m.cancel.button}
      </Button>
      <Button kind="danger" onClick={() => onOpen('remove')}>
        {m.remove.button}
      </Button>
    </>
  );
}

function ReviewStep({
  campaign,
  dirty,
  may_edit,
  onSend,
}: {
  campaign: CampaignRecord;
  dirty: boolean;
  may_edit: boolean;
  onSend: () => void;
}) {
  const variants = useVariants(campaign.id).data?.data;
  const has_variants = variants?.some(({ is_default }) => !is_default) === true;
  const missing = variants === undefined ? [] : missingOf(campaign, has_variants, dirty);
  return (
    <>
      <Review campaign={campaign} missing={missing} />
      {may_edit ? (
        <Buttons>
          <Button kind="primary" onClick={onSend} disabled={variants === undefined || missing.length > 0}>
            {m.send.button}
          </Button>
        </Buttons>
      ) : null}
    </>
  );
}

function Dialogs({
  open,
  campaign,
  onClose,
  onDeleted,
}: {
  open: Open | undefined;
  campaign: CampaignRecord;
  onClose: () => void;
  onDeleted: () => void;
}) {
  if (open === 'send') return <Send campaign={campaign} onClose={onClose} onDone={onClose} />;
  if (open === 'cancel') return <Cancel campaign={campaign} onClose={onClose} onDone={onClose} />;
  if (open === 'remove') return <Remove campaign={campaign} onClose={onClose} onDone={onDeleted} />;
  return null;
}
