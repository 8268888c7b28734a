import { afterEach, describe, expect, it } from 'vitest';
import { Workbench } from './workbench';

let workbench: Workbench | undefined;

afterEach(async (context) => {
  if (context.task.result?.state === 'fail')
    await workbench?.failed(`start-${context.task.name.replaceAll(/\W+/g, '-')}`);
  await workbench?.stop();
  workbench = undefined;
});

describe('the language server', () => {
  it('is not started for YAML that is no manifest, and is for the first that is one', async () => {
    workbench = await Workbench.start({ files: { 'tileops.toml': undefined } });
    await workbench.open('k8s/deployment.yaml');
    await workbench.hasText('nginx');
    await workbench.command('Developer: Show Running Extensions');
    // By then the extension was asked whether there is anything for it to do.
    await workbench.page.locator('.runtime-extensions-editor, .extension', { hasText: 'TileOps' }).first().waitFor();
    expect(workbench.processes('tileops-lsp')).toEqual([]);
    await workbench.show('norm.yaml');
    await workbench.page.locator('.squiggly-error').first().waitFor({ state: 'attached' });
    expect(workbench.processes('tileops-lsp')).toHaveLength(1);
  });

  it('is the one that comes with the extension where the workspace is not trusted', async () => {
    workbench = await Workbench.start({ trust: true, environment: { TILEOPS_LSP: '/bin/false' } });
    await workbench.open('manifest/norm.yaml');
    await workbench.page.locator('.squiggly-error').first().waitFor({ state: 'attached' });
    await workbench.command('TileOps: Show Debug Information');
    await workbench.hasText('trusted: no');
    await workbench.hasText('comes with');
  });

  it('is named by the environment, and what is wrong with it is said', async () => {
    workbench = await Workbench.start({ environment: { TILEOPS_LSP: '/bin/false' } });
    await workbench.open('manifest/norm.yaml');
    await workbench.page
      .locator('.notification-toast', { hasText: '/bin/false' })
      .or(workbench.page.locator('.notification-toast', { hasText: 'ended while it was starting' }))
      .first()
      .waitFor();
  });
});
