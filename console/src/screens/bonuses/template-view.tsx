import type { CreateBonusTemplateBody } from '@player-engagement/client/admin';
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { useCatalogue } from '../../api/currencies.ts';
import { useDraft } from '../../api/draft.ts';
import { useMayEdit, usePlace } from '../../api/place.tsx';
import { useChange, useSave, type SaveOf } from '../../api/queries.ts';
import type { Currency } from '../../format/money.ts';
import { atPaths, differing, textsOf, valuesOf, type Texts } from '../../format/record-texts.ts';
import { Time } from '../../format/zone.tsx';
import { t } from '../../messages/t.ts';
import { WithAudit } from '../../ui/audit.tsx';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Confirm } from '../../ui/confirm.tsx';
import { isConflict, SaveFailure } from '../../ui/conflict.tsx';
import { Id } from '../../ui/copy.tsx';
import { Facts } from '../../ui/facts.tsx';
import { Page } from '../../ui/page.tsx';
import { Answered } from '../../ui/states.tsx';
import { UnsavedGuard } from '../../ui/unsaved.tsx';
import { useBonusTemplate, type BonusTemplate } from './queries.ts';
import { TemplateStatus } from './status.tsx';
import { fieldsOf, newTexts, scalesBy } from './template-fields.ts';
import { TemplateForm } from './template-form.tsx';

const route = getRouteApi('/bonuses/templates/$id');
const m = t.bonuses.template;

/** One bonus template, or a new one. */
export function Template() {
  const { id } = route.useParams();
  const is_new = id === 'new';
  const template = useBonusTemplate(id, !is_new);
  // Amounts can be written only when the digits of their currency are known.
  return (
    <Answered asked={useCatalogue()} what={m.one}>
      {({ data: currencies }) =>
        is_new ? (
          <Editor key="new" currencies={currencies} />
        ) : (
          <Answered asked={template} what={m.one}>
            {({ data, etag }) => <Editor key={id} template={data} etag={etag} currencies={currencies} />}
          </Answered>
        )
      }
    </Answered>
  );
}

interface EditorProps {
  template?: BonusTemplate;
  etag?: string | undefined;
  currencies: readonly Currency[];
}

/** The fields of a saved record as texts, the type among them. */
function savedTexts(template: BonusTemplate, scaleOf: ReturnType<typeof scalesBy>): Texts {
  return { ...textsOf(template, fieldsOf(template.type), scaleOf), type: template.type };
}

function Editor({ template, etag, currencies }: EditorProps) {
  const { tab } = route.useSearch();
  const { role, base_currency } = usePlace();
  const may_edit = useMayEdit();
  const navigate = useNavigate();
  const save = useSave('bonusTemplates.create', 'bonusTemplates.update');
  const [removes, setRemoves] = useState(false);
  const scaleOf = scalesBy(currencies, base_currency);
  const is_new = template === undefined;
  const typed = useDraft<Texts>(is_new ? newTexts(base_currency) : savedTexts(template, scaleOf), etag);
  const read = (texts: Texts) => {
    const { values, issues } = valuesOf(texts, fieldsOf(texts['type'] ?? ''), {
      scaleOf,
      complaints: t.bonuses.complaints,
    });
    return { issues, values: is_new ? { ...values, type: texts['type'] } : values };
  };
  const { values, issues } = read(typed.draft);
  const submit = async (over = typed.etag, base = template) => {
    const before = base === undefined ? {} : savedTexts(base, scaleOf);
    // The config is written as a whole: what somebody else has changed in it meanwhile stays.
    const body = differing(read(before).values, read({ ...before, ...typed.changes }).values);
    // The API judges what the form says.
    const request: SaveOf<typeof save> = is_new
      ? { create: [values as CreateBonusTemplateBody] }
      : { update: [template.id, body], if_match: over };
    const answer = await save.mutateAsync(request).catch(() => undefined);
    if (answer === undefined) return;
    typed.reset();
    const { id } = answer.data;
    if (is_new) {
      void navigate({ to: '/bonuses/templates/$id', params: { id }, replace: true, ignoreBlocker: true });
    }
  };
  const current = isConflict(save.error) ? (save.error.details['current'] as BonusTemplate) : undefined;
  return (
    <Page
      title={is_new ? m.new : template.name.slice(0, 200)}
      actions={
        may_edit ? (
          <>
            {is_new ? null : (
              <Button kind="danger" onClick={() => setRemoves(true)}>
                {t.bonuses.remove}
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
      <WithAudit
        label={m.one}
        type="bonus_template"
        id={template?.id}
        tab={tab}
        link={(tab, props) => (
          <Link
            {...props}
            to="/bonuses/templates/$id"
            params={{ id: template?.id ?? 'new' }}
            search={(before) => ({ ...before, tab })}
          />
        )}
      >
        {is_new ? null : <Summary template={template} />}
        <SaveFailure
          save={save}
          forget={typed.reset}
          changes={atPaths(values, Object.keys(typed.changes))}
          onMine={(newer) => void submit(newer, current)}
        />
        <TemplateForm
          form={{
            texts: typed.draft,
            issues: [...issues, ...(save.error?.issues ?? [])],
            change: typed.change,
          }}
          is_new={is_new}
          disabled={!may_edit || save.isPending}
          currencies={currencies}
          base={base_currency}
        />
      </WithAudit>
      {removes && !is_new ? (
        <Remove
          template={template}
          onClose={() => setRemoves(false)}
          onDone={() => void navigate({ to: '/bonuses', ignoreBlocker: true })}
        />
      ) : null}
    </Page>
  );
}

function Summary({ template }: { template: BonusTemplate }) {
  return (
    <>
      <Facts
        label={m.one}
        facts={[
          [t.bonuses.status, <TemplateStatus key="status" status={template.status} />],
          [m.version, template.version],
          [t.bonuses.changed, <Time key="changed" at={template.updated_at} />],
          [t.bonuses.id, <Id key="id" value={template.id} what={t.bonuses.id} />],
          [
            t.bonuses.tabs.grants,
            <Link key="grants" to="/bonuses" search={{ tab: 'grants', template: template.id }}>
              {m.itsGrants}
            </Link>,
          ],
        ]}
      />
      {template.licence_warnings.map(({ rule_id, message }) => (
        <p key={rule_id}>
          <Badge tone="warn">{`${m.warnings}: ${rule_id}`}</Badge> {message}
        </p>
      ))}
      <p>{m.editHint}</p>
    </>
  );
}

function Remove({
  template,
  onClose,
  onDone,
}: {
  template: BonusTemplate;
  onClose: () => void;
  onDone: () => void;
}) {
  const remove = useChange('bonusTemplates.delete');
  return (
    <Confirm
      title={m.removeTitle(template.name.slice(0, 100))}
      verb={m.removeVerb}
      busy={remove.isPending}
      error={remove.error}
      onConfirm={() => remove.mutate({ inputs: [template.id] }, { onSuccess: onDone })}
      onClose={onClose}
    >
      <p>{m.removeText}</p>
    </Confirm>
  );
}
