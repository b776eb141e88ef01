/**
 * Runs `work` while no other page of this origin runs some under this name. In a browser without locks pages may send the same
 * batch at once: it is the same events.
 */
export async function exclusively(name: string, work: () => Promise<void>): Promise<void> {
  let is_begun = false;
  const begin = () => {
    is_begun = true;
    return work();
  };
  try {
    await navigator.locks.request(name, begin);
  } catch (error) {
    if (is_begun) throw error;
    await work();
  }
}
