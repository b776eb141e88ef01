import { Graph as Layout, layout, type Edge } from '@dagrejs/dagre';
import {
  BaseEdge,
  getSmoothStepPath,
  Handle,
  Panel,
  Position,
  ReactFlow,
  ReactFlowProvider,
  useReactFlow,
  type Edge as DrawnEdge,
  type EdgeProps,
  type Node as DrawnNode,
  type NodeChange,
  type NodeProps,
} from '@xyflow/react';
import '@xyflow/react/dist/base.css';
import { useEffect, useMemo } from 'react';
import { t } from '../../messages/t.ts';
import { Button } from '../../ui/button.tsx';
import css from './canvas.module.css';
import { edgesOf, idOf, type Graph } from './graph.ts';
import { titleOf, wayText, type NameOf } from './words.ts';

const m = t.journeys.canvas;
const WIDTH = 210;
const HEIGHT = 68;
/** Room for a label of a way, which is cut at this many characters. */
const LABEL = { width: 150, height: 22, longest: 26 };
const FIT = { padding: { top: '48px', x: 0.04, bottom: 0.04 } as const, maxZoom: 1, minZoom: 0.35 };

interface CanvasProps {
  graph: Graph;
  nameOf: NameOf;
  /** What is said of a node, such as its numbers. */
  notes: ReadonlyMap<string, string>;
  /** The ids of nodes with which something is wrong. */
  wrong: ReadonlySet<string>;
  selected: string | undefined;
  onSelect: (id: string) => void;
}

type StepNode = DrawnNode<{ title: string; kind: string; note: string; is_wrong: boolean }, 'step'>;

type WayEdge = DrawnEdge<Point, 'way'>;

type Point = { x: number; y: number };

const NODE_TYPES = { step: StepCard };
const EDGE_TYPES = { way: Way };

/** The graph as a picture. It is for reading and selecting: changes are made in the list. */
export default function Canvas(props: CanvasProps) {
  return (
    <ReactFlowProvider>
      <Drawing {...props} />
    </ReactFlowProvider>
  );
}

function Drawing({ graph, nameOf, notes, wrong, selected, onSelect }: CanvasProps) {
  const { fitView, zoomIn, zoomOut } = useReactFlow();
  const shape = shapeOf(graph);
  const { nodes: places, labels } = useMemo(() => placesOf(shape), [shape]);
  const ids = [...places.keys()].join(' ');
  useEffect(() => {
    void fitView(FIT);
  }, [ids, fitView]);
  const nodes = graph.nodes.map((node): StepNode => {
    const id = idOf(node);
    const title = titleOf(node, nameOf);
    const note = notes.get(id) ?? '';
    const is_wrong = wrong.has(id);
    const kind = t.journeys.types[String(node['type'])] ?? String(node['type']);
    return {
      id,
      type: 'step',
      position: places.get(id) ?? { x: 0, y: 0 },
      data: { title, kind, note, is_wrong },
      width: WIDTH,
      height: HEIGHT,
      measured: { width: WIDTH, height: HEIGHT },
      handles: HANDLES,
      selected: id === selected,
      ariaLabel: [title, note, ...(is_wrong ? [m.wrong] : [])].filter((text) => text !== '').join(', '),
    };
  });
  const onNodesChange = (changes: NodeChange<StepNode>[]) => {
    for (const change of changes) if (change.type === 'select' && change.selected) onSelect(change.id);
  };
  return (
    <div className={css['canvas']}>
      <ReactFlow
        aria-label={m.label}
        nodes={nodes}
        edges={drawnEdges(graph, nameOf, labels)}
        nodeTypes={NODE_TYPES}
        edgeTypes={EDGE_TYPES}
        onNodesChange={onNodesChange}
        nodesDraggable={false}
        nodesConnectable={false}
        edgesFocusable={false}
        deleteKeyCode={null}
        multiSelectionKeyCode={null}
        selectionKeyCode={null}
        // The wheel scrolls the page.
        zoomOnScroll={false}
        preventScrolling={false}
        zoomOnDoubleClick={false}
        minZoom={FIT.minZoom}
        maxZoom={1.5}
        fitView
        fitViewOptions={FIT}
        ariaLabelConfig={m.aria}
      >
        <Panel position="top-right" className={css['tools']}>
          <Button aria-label={m.zoomIn} onClick={() => void zoomIn()}>
            +
          </Button>
          <Button aria-label={m.zoomOut} onClick={() => void zoomOut()}>
            −
          </Button>
          <Button onClick={() => void fitView(FIT)}>{m.fit}</Button>
        </Panel>
      </ReactFlow>
    </div>
  );
}

const HANDLES = [
  { type: 'target' as const, position: Position.Top, x: WIDTH / 2, y: 0, width: 1, height: 1 },
  { type: 'source' as const, position: Position.Bottom, x: WIDTH / 2, y: HEIGHT, width: 1, height: 1 },
];

function StepCard({ data: { title, kind, note, is_wrong }, selected }: NodeProps<StepNode>) {
  return (
    <div
      className={`${css['node']} ${selected ? css['selected'] : ''} ${is_wrong ? css['wrong'] : ''}`}
      title={title}
    >
      <Handle type="target" position={Position.Top} isConnectable={false} className={css['handle'] ?? ''} />
      <span className={css['kind']}>
        {is_wrong ? '✕ ' : ''}
        {kind}
      </span>
      <strong>
        <bdi>{title}</bdi>
      </strong>
      <span className={css['note']}>{note}</span>
      <Handle
        type="source"
        position={Position.Bottom}
        isConnectable={false}
        className={css['handle'] ?? ''}
      />
    </div>
  );
}

/** A line from step to step. Its label has a place of its own: in the middle, those of two ways overlap. */
function Way({ id, label, data, ...ends }: EdgeProps<WayEdge>) {
  const [path] = getSmoothStepPath(ends);
  const place = data === undefined ? {} : { labelX: data.x, labelY: data.y };
  return <BaseEdge id={id} path={path} label={label} interactionWidth={0} {...place} />;
}

/** Each node with the nodes that its ways lead to. */
type Shape = readonly (readonly [id: string, targets: readonly string[]])[];

/** All that the places of the nodes depend on, as JSON: the graph itself is a new one with every render. */
function shapeOf({ nodes }: Graph): string {
  const shape: Shape = nodes.map((node) => [idOf(node), edgesOf(node).map(({ to }) => to)]);
  return JSON.stringify(shape);
}

/** Where things are drawn: the upper left corner of nodes by id, and the middle of labels by the id of their line. */
interface Places {
  nodes: ReadonlyMap<string, Point>;
  labels: ReadonlyMap<string, Point>;
}

/** Lays out a {@link shapeOf}. */
function placesOf(shape: string): Places {
  const nodes = JSON.parse(shape) as Shape;
  const drawing = new Layout();
  drawing.setGraph({ rankdir: 'TB', nodesep: 24, ranksep: 28 });
  const ids = new Set(nodes.map(([id]) => id));
  for (const id of ids) drawing.setNode(id, { width: WIDTH, height: HEIGHT });
  for (const [id, targets] of nodes) {
    const drawn = targets.filter((to) => ids.has(to));
    const room = drawn.length > 1 ? { width: LABEL.width, height: LABEL.height } : {};
    for (const to of drawn) drawing.setEdge(id, to, { ...room });
  }
  layout(drawing);
  const pointOf = (found: unknown): Point => {
    const { x = 0, y = 0 } = found as Partial<Point>;
    return { x, y };
  };
  const cornerOf = ({ x, y }: Point) => ({ x: x - WIDTH / 2, y: y - HEIGHT / 2 });
  const labelOf = ({ v: source, w: target }: Edge): Point => {
    const place = pointOf(drawing.edge(source, target));
    // Above the step that only this way leads to; of several that lead to one step, where the layout has left room.
    const is_shared = (drawing.inEdges(target) ?? []).length > 1;
    return is_shared ? place : { x: pointOf(drawing.node(target)).x, y: place.y };
  };
  return {
    nodes: new Map([...ids].map((id) => [id, cornerOf(pointOf(drawing.node(id)))])),
    labels: new Map(drawing.edges().map((edge) => [lineId(edge.v, edge.w), labelOf(edge)])),
  };
}

const lineId = (source: string, target: string) => `${source} ${target}`;

/** One line from node to node; ways that lead to the same one share it. */
function drawnEdges(graph: Graph, nameOf: NameOf, labels: Places['labels']): WayEdge[] {
  const ids = new Set(graph.nodes.map(idOf));
  return graph.nodes.flatMap((node) => {
    const source = idOf(node);
    const ways = edgesOf(node).filter(({ to }) => ids.has(to));
    return [...new Set(ways.map(({ to }) => to))].map((target): WayEdge => {
      const shared = ways.filter(({ to }) => to === target);
      const text = ways.length === 1 ? '' : shared.map((way) => wayText(way, node, nameOf)).join(' / ');
      const label = text.length > LABEL.longest ? `${text.slice(0, LABEL.longest - 1)}…` : text;
      const id = lineId(source, target);
      const place = labels.get(id);
      return {
        id,
        source,
        target,
        type: 'way',
        ...(place === undefined ? {} : { data: place }),
        focusable: false,
        selectable: false,
        ariaLabel: m.edge(source, target, text),
        ...(label === '' ? {} : { label }),
      };
    });
  });
}
