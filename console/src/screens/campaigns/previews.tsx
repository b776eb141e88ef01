import { useState } from 'react';
import { useMayEdit } from '../../api/place.tsx';
import { t } from '../../messages/t.ts';
import { Button } from '../../ui/button.tsx';
import { Buttons } from '../../ui/form.tsx';
import { PlayerChoice } from '../../ui/player-choice.tsx';
import { SendTest } from '../../ui/send-test.tsx';
import { RenderedTemplate } from '../../ui/template-preview.tsx';
import css from './campaigns.module.css';
import { useTemplatesOf, useVariants, type CampaignRecord, type TemplateRecord } from './queries.ts';

const m = t.campaigns;

/**
 * Every variant as one player would get it, at the side of the fields; without variants the chosen template. Without a
 * player: as a made-up one. A test message is sent from there.
 */
export function Previews({
  campaign,
  template_id,
}: {
  campaign: CampaignRecord;
  template_id: string | null;
}) {
  const templates = useTemplatesOf(campaign.channel).rows;
  const variants = useVariants(campaign.id).data?.data.filter(({ is_default }) => !is_default) ?? [];
  const [player, setPlayer] = useState<string>();
  const [testing, setTesting] = useState<TemplateRecord>();
  const may_edit = useMayEdit();
  const content =
    variants.length === 0
      ? [{ key: 'default', name: m.theMessage, template_id }]
      : variants.map(({ id, name, template_id: own }) => ({ key: id, name, template_id: own }));
  const shown = content.flatMap(({ key, name, template_id: id }) => {
    const template = templates?.find((one) => one.id === id);
    return template === undefined ? [] : [{ key, name, template }];
  });
  return (
    <section className={css['previews']} aria-label={m.previews}>
      <h2>{m.previews}</h2>
      <PlayerChoice label={t.templates.player} value={player} onChoose={setPlayer} />
      {player === undefined ? <p className={css['soft']}>{t.templates.synthetic}</p> : null}
      {shown.length === 0 ? <p>{m.noPreview}</p> : null}
      {shown.map(({ key, name, template }) => (
        <article key={key} className={css['preview']} aria-label={name}>
          <h3>
            <bdi>{name}</bdi>
          </h3>
          <RenderedTemplate template={template} title={m.previewOfOne(name)} player={player} width="phone" />
          {may_edit ? (
            <Buttons>
              <Button onClick={() => setTesting(template)}>{m.testOf(name.slice(0, 40))}</Button>
            </Buttons>
          ) : null}
        </article>
      ))}
      {testing === undefined ? null : (
        <SendTest template={testing} player={player} onClose={() => setTesting(undefined)} />
      )}
    </section>
  );
}
