import type { CreateTierBody } from '@player-engagement/client/admin';
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { useAskedBase } from '../../api/currencies.ts';
import { useDraft } from '../../api/draft.ts';
import { useMayEdit, usePlace } from '../../api/place.tsx';
import { useSave, type SaveOf } from '../../api/queries.ts';
import type { Currency } from '../../format/money.ts';
import {
  atPaths,
  differing,
  textsOf,
  valuesOf,
  type FieldSpec,
  type Texts,
} from '../../format/record-texts.ts';
import { t } from '../../messages/t.ts';
import { WithAudit } from '../../ui/audit.tsx';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Confirm } from '../../ui/confirm.tsx';
import { SaveFailure } from '../../ui/conflict.tsx';
import { Field } from '../../ui/field.tsx';
import { Page } from '../../ui/page.tsx';
import { Answered, Failed, Loading } from '../../ui/states.tsx';
import { UnsavedGuard } from '../../ui/unsaved.tsx';
import { TierForm } from './form.tsx';
import { useMembers, useTier, type Tier } from './queries.ts';

const route = getRouteApi('/vip/$id');
const m = t.vip;
const FIELDS: readonly FieldSpec[] = [
  { path: 'name', kind: 'text' },
  { path: 'rank', kind: 'int' },
  { path: 'color', kind: 'text' },
  { path: 'glyph', kind: 'text' },
  { path: 'is_active', kind: 'flag' },
  { path: 'requirements.lifetime_deposit_subunit', kind: 'money' },
  { path: 'requirements.lifetime_wagered_subunit', kind: 'money' },
  { path: 'requirements.min_days_active', kind: 'int' },
  { path: 'demotion.inactivity_days', kind: 'int' },
  { path: 'demotion.grace_days', kind: 'int' },
  { path: 'perks.cashback_pct', kind: 'decimal' },
  { path: 'perks.dedicated_host', kind: 'flag' },
  { path: 'perks.priority_kyc', kind: 'flag' },
];
const NEW: Texts = { is_active: 'true' };

/** One VIP tier, or a new one. */
export function TierPage() {
  const { id } = route.useParams();
  const is_new = id === 'new';
  const tier = useTier(id, !is_new);
  const base = useAskedBase();
  return (
    <Answered asked={base} what={m.one}>
      {({ currency }) =>
        currency === undefined ? (
          <Loading what={m.one} />
        ) : is_new ? (
          <Editor key="new" base={currency} />
        ) : (
          <Answered asked={tier} what={m.one}>
            {({ data, etag }) => <Editor key={id} tier={data} etag={etag} base={currency} />}
          </Answered>
        )
      }
    </Answered>
  );
}

type Values = Record<string, unknown>;

/** What a form means to the API: no days at all mean no demotion, and an empty requirement is 0. */
function bodyOf(values: Values): Values {
  const demotion = values['demotion'] as Values;
  const requirements = values['requirements'] as Values;
  return {
    ...values,
    requirements: {
      lifetime_deposit_subunit: 0,
      lifetime_wagered_subunit: 0,
      min_days_active: 0,
      ...requirements,
    },
    demotion:
      Object.keys(demotion).length === 0 ? null : { inactivity_days: null, grace_days: 0, ...demotion },
  };
}

/** The perks that differ. A perk without a value is removed; perks for which the form has no field stay. */
function perksPatch(before: Values, after: Values): Values {
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  const changed = [...names].filter((name) => before[name] !== after[name]);
  return Object.fromEntries(changed.map((name) => [name, after[name] ?? null]));
}

interface EditorProps {
  tier?: Tier;
  etag?: string | undefined;
  base: Currency;
}

function Editor({ tier, etag, base }: EditorProps) {
  const { tab } = route.useSearch();
  const { role } = usePlace();
  const may_edit = useMayEdit();
  const navigate = useNavigate();
  const save = useSave('vipTiers.create', 'vipTiers.update');
  /** What is written once it is said that players may lose the tier. */
  const [asks, setAsks] = useState<{ over: string | undefined; saved: Tier }>();
  const is_new = tier === undefined;
  const scaleOf = () => base.scale;
  const typed = useDraft<Texts>(is_new ? NEW : textsOf(tier, FIELDS, scaleOf), etag);
  const read = (texts: Texts) => {
    const { values, issues } = valuesOf(texts, FIELDS, { scaleOf, complaints: t.bonuses.complaints });
    return { issues, values: bodyOf(values) };
  };
  const { values, issues } = read(typed.draft);
  const patchOf = (saved: Tier): Values => {
    const before = textsOf(saved, FIELDS, scaleOf);
    const [was, is] = [read(before).values, read({ ...before, ...typed.changes }).values];
    const { perks, ...rest } = differing(was, is);
    if (perks === undefined) return rest;
    return { ...rest, perks: perksPatch(was['perks'] as Values, perks as Values) };
  };
  const submit = async (over = typed.etag, saved = tier) => {
    // The API judges what the form says.
    const request: SaveOf<typeof save> =
      saved === undefined
        ? { create: [{ ...values, code: typed.draft['code'] ?? '' } as CreateTierBody] }
        : { update: [saved.id, patchOf(saved)], if_match: over };
    const answer = await save.mutateAsync(request).catch(() => undefined);
    setAsks(undefined);
    if (answer === undefined) return;
    typed.reset();
    const { id } = answer.data;
    if (is_new) void navigate({ to: '/vip/$id', params: { id }, replace: true, ignoreBlocker: true });
  };
  const ask = (over = typed.etag, saved = tier) =>
    saved?.is_active === true && typed.changes['is_active'] === 'false'
      ? setAsks({ over, saved })
      : void submit(over, saved);
  return (
    <Page
      title={is_new ? m.new : tier.name.slice(0, 200)}
      actions={
        may_edit ? (
          <Button
            kind="primary"
            onClick={() => ask()}
            disabled={save.isPending || issues.length > 0 || (!is_new && !typed.dirty)}
          >
            {is_new ? m.create : t.form.save}
          </Button>
        ) : (
          <Badge>{t.form.viewer(role)}</Badge>
        )
      }
    >
      <UnsavedGuard dirty={typed.dirty} />
      <SaveFailure
        save={save}
        forget={typed.reset}
        changes={atPaths(values, Object.keys(typed.changes))}
        onMine={(newer) => ask(newer, save.error?.details['current'] as Tier)}
      />
      <WithAudit
        label={m.one}
        type="vip_tier"
        id={tier?.id}
        tab={tab}
        link={(tab, props) => (
          <Link
            {...props}
            to="/vip/$id"
            params={{ id: tier?.id ?? 'new' }}
            search={(before) => ({ ...before, tab })}
          />
        )}
      >
        <TierForm
          form={{
            texts: typed.draft,
            issues: [...issues, ...(save.error?.issues ?? [])],
            change: typed.change,
          }}
          tier={tier}
          disabled={!may_edit || save.isPending}
          base={base}
        />
      </WithAudit>
      {asks === undefined ? null : (
        <Deactivate
          tier={asks.saved}
          busy={save.isPending}
          onConfirm={() => void submit(asks.over, asks.saved)}
          onClose={() => setAsks(undefined)}
        />
      )}
    </Page>
  );
}

/** Asks before the players of a tier lose it. */
function Deactivate({
  tier,
  busy,
  onConfirm,
  onClose,
}: {
  tier: Tier;
  busy: boolean;
  onConfirm: () => void;
  onClose: () => void;
}) {
  const asked = useMembers(tier.code);
  const [typed, setTyped] = useState('');
  const members = asked.data?.data.estimated_size;
  return (
    <Confirm
      title={m.deactivate.title(tier.name.slice(0, 100))}
      verb={m.deactivate.verb}
      count={members}
      busy={busy}
      ready={members !== undefined || (asked.error !== null && typed.trim() === tier.code)}
      error={null}
      onConfirm={onConfirm}
      onClose={onClose}
    >
      <p>{m.deactivate.text(members === undefined ? m.deactivate.unknown : m.members(members))}</p>
      {members !== undefined ? null : asked.error === null ? (
        <Loading what={m.deactivate.counting} />
      ) : (
        <>
          <Failed error={asked.error} retry={() => void asked.refetch()} />
          <Field label={m.deactivate.type(tier.code)}>
            {(control) => (
              <input
                {...control}
                autoComplete="off"
                maxLength={40}
                value={typed}
                onChange={({ target }) => setTyped(target.value)}
              />
            )}
          </Field>
        </>
      )}
    </Confirm>
  );
}
