# Runs a program of two ranks through one of the layers that Open MPI sends messages by. Status 77 (skipped) where this
# machine's Open MPI has no such layer. The environment goes before Open MPI's own files (Debian's choose ob1 there).
#   layer_test.sh LAYER MPIRUN PROGRAM [ARGUMENTS …]
layer=$1 mpirun=$2
shift 2

skip() { echo "skipped: this machine's Open MPI has no layer $layer" && exit 77; }
case $layer in
  sockets) components='pml:ob1 btl:tcp' ; export OMPI_MCA_pml=ob1 OMPI_MCA_btl=self,tcp ;;
  ofi_*) components='pml:cm mtl:ofi' ; export OMPI_MCA_pml=cm OMPI_MCA_mtl=ofi ;;&
  ofi_rxm) export OMPI_MCA_mtl_ofi_provider_include='tcp;ofi_rxm' ;;
  ofi_net) export OMPI_MCA_mtl_ofi_provider_include=net ;;
  ucx_*) components=pml:ucx
    export OMPI_MCA_pml=ucx OMPI_MCA_osc=ucx OMPI_MCA_pml_ucx_tls=any OMPI_MCA_pml_ucx_devices=any ;;&
  ucx_tcp) export UCX_TLS=tcp,self ;;
  ucx_shared_memory) export UCX_TLS=tcp,self,sysv,posix ;;
esac
present=$("$(dirname "$mpirun")/ompi_info" --parsable) || skip
for component in $components; do [[ $present == *"mca:$component:"* ]] || skip; done

output=$("$mpirun" -n 2 "$@" 2>&1)
status=$?
printf '%s\n' "$output"
[[ $output != *'PML '*' cannot be selected'* ]] || skip
exit $status
