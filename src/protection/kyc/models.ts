import type { KycModel } from '../../tenants/config/catalogue.ts';

/**
 * Whether ingested kyc_* events set the status (bonuses part 8). They do until somebody chooses a model (null), so that a
 * tenant which has reported KYC by events from the start loses no status.
 */
export function mayEventsDecide(chosen: KycModel | null): boolean {
  return chosen === null || mayPlatformDecide(chosen);
}

/** Whether the platform's webhooks set the status. */
export function mayPlatformDecide(model: KycModel): boolean {
  return model === 'platform_owns' || model === 'dual';
}

/**
 * Whether operators decide. They do until somebody chooses a model (null); the platform is told only of what operators decide
 * under a chosen one.
 */
export function mayOperatorDecide(chosen: KycModel | null): boolean {
  return chosen === null || chosen === 'crm_owns' || chosen === 'dual';
}
