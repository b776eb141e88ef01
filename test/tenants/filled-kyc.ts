import { randomUUID } from 'node:crypto';
import { setKycModel, type TestService } from '../engines/service.ts';

/** Writes a decision about a player's KYC and a call that waits; the tenant's operators and platforms both decide. */
export async function fillKyc(
  service: TestService,
  owner: { session_token: string; tenant_id: string; project_id: string },
  player_id: string,
): Promise<void> {
  await setKycModel(service, owner);
  const { tenant_id, project_id } = owner;
  const sql = service.platform.postgres.service;
  await sql`
    insert into kyc_decisions (tenant_id, project_id, player_id, decision_id, kind, source, occurred_at, received_at, level,
      applied, kyc_status)
    values (${tenant_id}, ${project_id}, ${player_id}, ${randomUUID()}, 'approved', 'api', now(), now(), 1, true,
      'approved')`;
  await sql`
    insert into kyc_calls (tenant_id, project_id, player_id, call_id, action, body, created_at)
    values (${tenant_id}, ${project_id}, ${player_id}, ${randomUUID()}, 'update', '{}', now())`;
}
