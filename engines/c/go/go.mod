module chronoxide

go 1.22
