import { useState } from 'react';
import { useDraft } from '../../api/draft.ts';
import { ApiError } from '@player-engagement/client/admin';
import { useChange } from '../../api/queries.ts';
import { t } from '../../messages/t.ts';
import { Button } from '../../ui/button.tsx';
import { isConflict, SaveFailure } from '../../ui/conflict.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Buttons, Form } from '../../ui/form.tsx';
import { Answered } from '../../ui/states.tsx';
import { Table } from '../../ui/table.tsx';
import { UnsavedGuard } from '../../ui/unsaved.tsx';
import { ConfigForm } from './config-form.tsx';
import { BonusSettings, LicenceRules } from './bonus-config.tsx';
import { draftOf, patchOf, type Draft } from './draft.ts';
import { useConfig, type LicenceRule, type Settings, type TenantConfig } from './queries.ts';
import { isRuleField, ruleLabel } from './rules.ts';

const m = t.settings;

/** The configuration of the tenant: by the suggestions of a licence or by hand, with a review before it is saved. */
export function Config() {
  return (
    <Answered asked={useConfig()} what={m.tabs.config}>
      {({ data, etag }) => <Editor config={data} etag={etag} />}
    </Answered>
  );
}

function Editor({ config, etag }: { config: TenantConfig; etag: string | undefined }) {
  const rules = config.catalogue.license_rules;
  const saved = draftOf(config, rules);
  const { draft, changes, dirty, ...typed } = useDraft(saved, etag);
  const save = useChange('tenant.config.update');
  const [is_reviewed, setReviewed] = useState(false);
  const submit = async (over = typed.etag) => {
    const body = patchOf(changes, draft);
    const answer = await save.mutateAsync({ inputs: [body], if_match: over }).catch(() => undefined);
    setReviewed(false);
    if (answer !== undefined) typed.reset();
  };
  return (
    <>
      <UnsavedGuard
        dirty={dirty}
        leaves={({ search }) => search['tab'] !== undefined && search['tab'] !== 'config'}
      />
      <SaveFailure
        save={{ reset: save.reset, error: isConflict(save.error) ? inFields(save.error, rules) : save.error }}
        forget={typed.reset}
        changes={changes}
        onMine={(newer) => void submit(newer)}
      />
      <Form disabled={save.isPending}>
        <ConfigForm draft={draft} catalogue={config.catalogue} onChange={typed.change} />
        <BonusSettings draft={draft} onChange={typed.change} />
        <LicenceRules draft={draft} rules={rules} issues={save.error?.issues ?? []} onChange={typed.change} />
      </Form>
      <Buttons>
        <Button kind="primary" disabled={!dirty} onClick={() => setReviewed(true)}>
          {m.review}
        </Button>
        <Button disabled={!dirty} onClick={typed.reset}>
          {m.forget}
        </Button>
      </Buttons>
      {is_reviewed ? (
        <Dialog
          title={m.reviewTitle}
          onClose={() => setReviewed(false)}
          mayClose={() => !save.isPending}
          actions={
            <>
              <Button onClick={() => setReviewed(false)} disabled={save.isPending}>
                {t.confirm.cancel}
              </Button>
              <Button kind="primary" disabled={save.isPending} onClick={() => void submit()}>
                {m.saveChanges(Object.keys(changes).length)}
              </Button>
            </>
          }
        >
          <p>{m.reviewText}</p>
          <Differences before={saved} changes={changes} rules={rules} />
        </Dialog>
      ) : null}
    </>
  );
}

function Differences({
  before,
  changes,
  rules,
}: {
  before: Draft;
  changes: Partial<Draft>;
  rules: readonly LicenceRule[];
}) {
  return (
    <Table
      label={m.reviewTitle}
      head={[t.form.field, m.before, m.after]}
      rows={(Object.keys(changes) as (keyof Draft)[]).map((field) => ({
        key: field,
        cells: [labelOf(field, rules), shown(before[field]), shown(changes[field])],
      }))}
    />
  );
}

/** The name of a field in the review. */
function labelOf(field: keyof Draft, rules: readonly LicenceRule[]): string {
  return isRuleField(field) ? ruleLabel(field, rules) : m.fields[field];
}

function shown(value: string | boolean | undefined): string {
  if (typeof value === 'boolean') return value ? m.yes : m.no;
  return value === undefined || value === '' ? '—' : value;
}

/** The fields as {@link SaveFailure} reads them: `email.per_day` is in `email`. */
function nested(draft: Draft): Record<string, unknown> {
  const found: Record<string, unknown> = {};
  for (const [field, value] of Object.entries(draft)) {
    const names = field.split('.');
    const last = names.pop() ?? '';
    let place = found;
    for (const name of names) place = (place[name] ??= {}) as Record<string, unknown>;
    place[last] = value;
  }
  return found;
}

/** The conflict with the saved settings as fields of the form. */
function inFields(
  { code, message, status, details, request_id }: ApiError,
  rules: readonly LicenceRule[],
): ApiError {
  const { current } = details as { current?: Settings };
  const fields = current === undefined ? {} : { current: nested(draftOf(current, rules)) };
  return new ApiError(code, message, { status, details: { ...details, ...fields }, request_id });
}
