import type { Tx } from '../../platform/postgres/port.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';

type Json = Readonly<Record<string, unknown>>;

/** What was saved last of a journey, and its live version, if it has one. */
export interface JourneyGraphs extends ProjectRef {
  journey_id: string;
  graph: Json;
  version: number | null;
}

export interface VersionGraph extends ProjectRef {
  journey_id: string;
  version: number;
  graph: Json;
}

export interface DeliveryHeaders extends ProjectRef {
  event_id: string;
  url: string;
  /** Whether it may still be called: it is pending, or has failed and can be queued again. */
  is_open: boolean;
  headers: Json;
}

function hasHeaders(tx: Tx) {
  return tx`jsonb_path_exists(graph, '$.nodes[*] ? (@.type == "call_webhook").headers.*')`;
}

/** Journeys with headers after `after`, in the order of their keys, locked against change. */
export async function lockJourneyGraphs(
  tx: Tx,
  after: JourneyGraphs | undefined,
  limit: number,
): Promise<JourneyGraphs[]> {
  const beyond =
    after === undefined
      ? tx`true`
      : tx`(tenant_id, project_id, journey_id) > (${after.tenant_id}, ${after.project_id}, ${after.journey_id})`;
  return tx<JourneyGraphs[]>`
    select tenant_id, project_id, journey_id, graph, version from journeys
    where ${hasHeaders(tx)} and ${beyond}
    order by tenant_id, project_id, journey_id limit ${limit} for no key update`;
}

/** Versions with headers after `after`, in the order of their keys, locked against change. */
export async function lockVersionGraphs(
  tx: Tx,
  after: VersionGraph | undefined,
  limit: number,
): Promise<VersionGraph[]> {
  const beyond =
    after === undefined
      ? tx`true`
      : tx`(tenant_id, project_id, journey_id, version)
          > (${after.tenant_id}, ${after.project_id}, ${after.journey_id}, ${after.version})`;
  return tx<VersionGraph[]>`
    select tenant_id, project_id, journey_id, version, graph from journey_versions
    where ${hasHeaders(tx)} and ${beyond}
    order by tenant_id, project_id, journey_id, version limit ${limit} for no key update`;
}

/** One version, locked against change; undefined when it was removed. */
export async function lockVersionGraph(
  tx: Tx,
  { tenant_id, project_id, journey_id }: JourneyGraphs,
  version: number,
): Promise<VersionGraph | undefined> {
  const [row] = await tx<VersionGraph[]>`
    select tenant_id, project_id, journey_id, version, graph from journey_versions
    where tenant_id = ${tenant_id} and project_id = ${project_id} and journey_id = ${journey_id}
      and version = ${version}
    for no key update`;
  return row;
}

/** Deliveries with headers after `after`, in the order of their keys, locked against change. Locked ones are omitted. */
export async function lockDeliveryHeaders(
  tx: Tx,
  after: DeliveryHeaders | undefined,
  limit: number,
): Promise<DeliveryHeaders[]> {
  const beyond =
    after === undefined ? tx`true` : tx`(tenant_id, event_id) > (${after.tenant_id}, ${after.event_id})`;
  return tx<DeliveryHeaders[]>`
    select tenant_id, project_id, event_id, url, headers, status in ('pending', 'failed') as is_open
    from webhook_deliveries
    where headers <> '{}' and ${beyond}
    order by tenant_id, event_id limit ${limit} for no key update`;
}

/** Stores the graph of a locked journey anew; `updated_at` stays, because the journey has not changed. */
export async function updateJourneyGraph(
  tx: Tx,
  { tenant_id, project_id, journey_id }: JourneyGraphs,
  graph: Json,
) {
  await tx`
    update journeys set graph = ${JSON.stringify(graph)}::text::jsonb
    where tenant_id = ${tenant_id} and project_id = ${project_id} and journey_id = ${journey_id}`;
}

/** Stores the graph of a locked version anew. */
export async function updateVersionGraph(tx: Tx, row: VersionGraph, graph: Json): Promise<void> {
  const { tenant_id, project_id, journey_id, version } = row;
  await tx`
    update journey_versions set graph = ${JSON.stringify(graph)}::text::jsonb
    where tenant_id = ${tenant_id} and project_id = ${project_id} and journey_id = ${journey_id}
      and version = ${version}`;
}

/** Stores the headers of a locked delivery anew. */
export async function updateDeliveryHeaders(
  tx: Tx,
  { tenant_id, event_id }: DeliveryHeaders,
  headers: Json,
): Promise<void> {
  await tx`
    update webhook_deliveries set headers = ${JSON.stringify(headers)}::text::jsonb
    where tenant_id = ${tenant_id} and event_id = ${event_id}`;
}
