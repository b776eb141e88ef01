import { t } from '../../messages/t.ts';
import { Button } from '../../ui/button.tsx';
import { Buttons, Form, Row } from '../../ui/form.tsx';
import { ConditionForm } from './condition-form.tsx';
import {
  mayRemove,
  retargeted,
  targetsOf,
  withBranch,
  withNode,
  withoutBranch,
  withoutStep,
} from './edit-graph.ts';
import { OneOf, Text, Whole } from './fields.tsx';
import { edgesOf, idOf, listOf, textOf, type Edge, type Graph, type Written } from './graph.ts';
import css from './journeys.module.css';
import { NODE_FORMS } from './node-forms.tsx';
import { titleOf, wayText, type NameOf } from './words.ts';

const m = t.journeys.edit;
const MOST_BRANCHES = 10;

export interface StepFormProps {
  graph: Graph;
  node: Written;
  nameOf: NameOf;
  /** `tag` makes changes in quick succession one step back. */
  onGraph: (next: (graph: Graph) => Graph, tag?: string) => void;
}

/** All settings of one node: its name, what it does, its ways, and its removal. */
export function StepForm({ graph, node, nameOf, onGraph }: StepFormProps) {
  const id = idOf(node);
  const type = textOf(node['type']);
  const Settings = NODE_FORMS[type];
  const set = (change: Written) =>
    onGraph(
      (old) => withNode(old, id, (one) => ({ ...one, ...change })),
      `${id} ${Object.keys(change).join()}`,
    );
  const has_branches = type === 'branch' || type === 'split';
  const edges = edgesOf(node);
  return (
    <Form>
      <Text label={m.stepName} hint={m.stepNameHint} value={node['name']} onValue={(name) => set({ name })} />
      {Settings === undefined ? null : <Settings node={node} onSet={set} />}
      {has_branches ? <Branches graph={graph} node={node} nameOf={nameOf} onGraph={onGraph} /> : null}
      {edges
        .filter(({ branch }) => branch === undefined)
        .map((edge) => (
          <Target key={edge.path.join('.')} {...{ graph, node, edge, nameOf, onGraph }} />
        ))}
      <Buttons>
        <Button
          kind="danger"
          disabled={!mayRemove(graph, node)}
          onClick={() => onGraph((old) => withoutStep(old, id))}
        >
          {m.removeStep(titleOf(node, nameOf).slice(0, 60))}
        </Button>
        {mayRemove(graph, node) ? null : <span className={css['soft']}>{m.endStays}</span>}
      </Buttons>
    </Form>
  );
}

/** Where a way goes on. */
function Target({ graph, node, edge, nameOf, onGraph }: StepFormProps & { edge: Edge }) {
  const id = idOf(node);
  return (
    <OneOf
      label={m.target(wayText(edge, node, nameOf))}
      value={edge.to}
      choices={targetsOf(graph, id).map((one) => [idOf(one), `${titleOf(one, nameOf)} (${idOf(one)})`])}
      onChoose={(to) => onGraph((old) => retargeted(old, id, edge.path, to))}
    />
  );
}

function Branches({ graph, node, nameOf, onGraph }: StepFormProps) {
  const id = idOf(node);
  const is_split = node['type'] === 'split';
  const branches = listOf(node, 'branches');
  const fewest = is_split ? 2 : 1;
  const setBranch = (index: number, change: Written) =>
    onGraph(
      (old) =>
        withNode(old, id, (one) => ({
          ...one,
          branches: listOf(one, 'branches').map((branch, i) =>
            i === index
              ? Object.fromEntries(
                  Object.entries({ ...branch, ...change }).filter(([, value]) => value !== undefined),
                )
              : branch,
          ),
        })),
      `${id} ${index} ${Object.keys(change).join()}`,
    );
  return (
    <>
      {edgesOf(node).map((edge, i) => {
        const { branch } = edge;
        if (branch === undefined) return null;
        return (
          <div key={i} role="group" aria-label={m.branch(i + 1)} className={css['branch']}>
            <Row>
              <Text
                label={m.branchName(i + 1)}
                value={branch['name']}
                onValue={(name) => setBranch(i, { name })}
              />
              {is_split ? (
                <Whole
                  label={m.weight(i + 1)}
                  value={branch['weight']}
                  onValue={(weight) => setBranch(i, { weight: weight ?? 0 })}
                />
              ) : null}
            </Row>
            {is_split ? null : (
              <ConditionForm
                condition={branch['condition']}
                onCondition={(condition) => setBranch(i, { condition: condition ?? {} })}
              />
            )}
            <Target {...{ graph, node, edge, nameOf, onGraph }} />
            <Buttons>
              <Button
                kind="quiet"
                disabled={branches.length <= fewest}
                onClick={() => onGraph((old) => withoutBranch(old, id, i))}
              >
                {m.removeBranch(i + 1)}
              </Button>
            </Buttons>
          </div>
        );
      })}
      <Buttons>
        <Button
          disabled={branches.length >= MOST_BRANCHES}
          onClick={() => onGraph((old) => withNode(old, id, withBranch))}
        >
          {m.addBranch}
        </Button>
      </Buttons>
    </>
  );
}
