import { enginesKill } from './engines-kill.ts';

enginesKill({ judges_time: true });
