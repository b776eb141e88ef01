import { useState } from 'react';
import { useChange } from '../../api/queries.ts';
import { formatPercent } from '../../format/number.ts';
import { t } from '../../messages/t.ts';
import { Button } from '../../ui/button.tsx';
import { Choice } from '../../ui/choice.tsx';
import { Field } from '../../ui/field.tsx';
import { Form, Row } from '../../ui/form.tsx';
import { Answered, Failed } from '../../ui/states.tsx';
import { Table } from '../../ui/table.tsx';
import css from './campaigns.module.css';
import { useTemplatesOf, useVariants, type CampaignRecord } from './queries.ts';

const m = t.campaigns;

/** The variants of a saved campaign; each is saved at once. */
export function Variants({ campaign, disabled }: { campaign: CampaignRecord; disabled: boolean }) {
  const asked = useVariants(campaign.id);
  const templates = useTemplatesOf(campaign.channel);
  const remove = useChange('campaigns.variants.delete');
  const nameOf = (id: string | null) => templates.rows?.find((one) => one.id === id)?.name ?? id ?? '—';
  return (
    <section className={css['section']} aria-label={m.variants}>
      <h2>{m.variants}</h2>
      <p className={css['soft']}>{m.variantsHint}</p>
      <Answered asked={asked} what={m.variants}>
        {({ data }) => {
          const explicit = data.filter(({ is_default }) => !is_default);
          const all = explicit.reduce((sum, { weight }) => sum + weight, 0);
          return explicit.length === 0 ? null : (
            <Table
              label={m.variants}
              head={[m.variantName, m.template, m.weight, m.share, '']}
              rows={explicit.map((row) => ({
                key: row.id,
                cells: [
                  <bdi key="name">{row.name}</bdi>,
                  <bdi key="template">{nameOf(row.template_id)}</bdi>,
                  row.weight,
                  formatPercent(row.weight / all),
                  <Button
                    key="remove"
                    kind="quiet"
                    disabled={disabled || remove.isPending}
                    onClick={() => remove.mutate({ inputs: [campaign.id, row.id] })}
                  >
                    {m.removeVariant(row.name.slice(0, 40))}
                  </Button>,
                ],
              }))}
            />
          );
        }}
      </Answered>
      {remove.error === null ? null : <Failed error={remove.error} />}
      {disabled ? null : <AddVariant campaign={campaign} templates={templates} />}
    </section>
  );
}

function AddVariant({
  campaign,
  templates,
}: {
  campaign: CampaignRecord;
  templates: ReturnType<typeof useTemplatesOf>;
}) {
  const [name, setName] = useState('');
  const [weight, setWeight] = useState('50');
  const [template_id, setTemplate] = useState<string | null>(null);
  const add = useChange('campaigns.variants.create');
  const submit = () => {
    if (template_id === null) return;
    add.mutate(
      { inputs: [campaign.id, { name, template_id, weight: Number(weight) }] },
      // The next name may have been begun while everything was asked again.
      { onSuccess: () => setName((typed) => (typed === name ? '' : typed)) },
    );
  };
  return (
    <Form>
      <Row>
        <Field label={m.variantName}>
          {(control) => (
            <input
              {...control}
              dir="auto"
              maxLength={200}
              value={name}
              onChange={({ target }) => setName(target.value)}
            />
          )}
        </Field>
        <Choice
          label={m.template}
          pages={templates}
          value={template_id}
          none={m.noTemplate}
          keyOf={({ id }) => id}
          nameOf={(row) => row.name}
          onChange={setTemplate}
        />
        <Field label={m.weight}>
          {(control) => (
            <input
              {...control}
              type="number"
              min={1}
              max={1_000_000}
              value={weight}
              onChange={({ target }) => setWeight(target.value)}
            />
          )}
        </Field>
        <Button onClick={submit} disabled={add.isPending || name.trim() === '' || template_id === null}>
          {m.addVariant}
        </Button>
      </Row>
      {add.error === null ? null : <Failed error={add.error} />}
    </Form>
  );
}
